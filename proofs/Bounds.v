(** Section 7: why cuts, covers and crossings are lower bounds.

    This file does not use the others but for sums: bounds are about families of models, not about boxes. *)

From Coq Require Import ZArith QArith Lqa List Bool Lia Arith.
From Secateur Require Import Numbers.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Cuts *)

(** How many columns a family has, how many constants of each kind, and whether the constants are an
    item of their own. Items are the columns and then, where they are counted, the constants. *)
Record family := { n_columns : nat; n_at_most : nat; n_balanced : nat; counted : bool }.

(** A model of a family. Only the numbers of the columns and constants that there are matter. *)
Record model := { weight : nat -> Q; signed : nat -> Q; free : nat -> Q }.

Definition in_family (f : family) (m : model) : Prop :=
  (forall i, (i < n_columns f)%nat -> (0 <= weight m i)%Q)
  /\ (forall i, (i < n_at_most f)%nat -> (0 <= signed m i)%Q).

Definition constants_there (f : family) (m : model) : Prop :=
  (exists i, (i < n_at_most f)%nat /\ ~ (signed m i == 0)%Q)
  \/ (exists i, (i < n_balanced f)%nat /\ ~ (free m i == 0)%Q).

Definition there (f : family) (m : model) (item : nat) : Prop :=
  ((item < n_columns f)%nat /\ (0 < weight m item)%Q)
  \/ (counted f = true /\ item = n_columns f /\ constants_there f m).

Record term := { multiplier : Z; columns : list Z; at_most : list Z; balanced : list Z }.

(** Numbers times whole numbers, added up over the first n of them. *)
Fixpoint dot (n : nat) (x : nat -> Q) (y : nat -> Z) : Q :=
  match n with O => 0 | S n => dot n x y + x n * inject_Z (y n) end.

Definition at_ (l : list Z) (i : nat) : Z := nth i l 0.

(** What a term states of a model: a combination of its numbers is positive. *)
Definition states (f : family) (m : model) (t : term) : Prop :=
  (0 < dot (n_columns f) (weight m) (at_ (columns t)) + dot (n_at_most f) (signed m) (at_ (at_most t))
       + dot (n_balanced f) (free m) (at_ (balanced t)))%Q.

(** The combined numbers of one kind. *)
Definition combined (of : term -> list Z) (ts : list term) (i : nat) : Z :=
  zsum (map (fun t => multiplier t * at_ (of t) i) ts).

Definition fits (f : family) (t : term) : bool :=
  (1 <=? multiplier t) && (length (columns t) =? n_columns f)%nat
  && (length (at_most t) =? n_at_most f)%nat && (length (balanced t) =? n_balanced f)%nat.

(** The cut that terms make, if it is accepted: its items. *)
Definition cut (f : family) (ts : list term) : option (list nat) :=
  let unbalanced := existsb (fun i => negb (combined balanced ts i =? 0)) (seq 0 (n_balanced f)) in
  if negb (length ts =? 0)%nat && forallb (fits f) ts
     && forallb (fun i => combined at_most ts i <=? 0) (seq 0 (n_at_most f))
     && (counted f || negb unbalanced)
  then Some (filter (fun i => 0 <? combined columns ts i) (seq 0 (n_columns f))
             ++ (if unbalanced then [n_columns f] else []))
  else None.

Lemma dot_add n x (y z : nat -> Z) k :
  (dot n x (fun i => (k * y i + z i)%Z) == inject_Z k * dot n x y + dot n x z)%Q.
Proof.
  induction n; simpl; [ring|]. rewrite IHn, inject_Z_plus, inject_Z_mult. ring.
Qed.

Lemma dot_zero n x : (dot n x (fun _ => 0%Z) == 0)%Q.
Proof. induction n; simpl; [reflexivity|]. rewrite IHn. ring. Qed.

Lemma dot_at_most_zero n x y :
  (forall i, (i < n)%nat -> (x i * inject_Z (y i) <= 0)%Q) -> (dot n x y <= 0)%Q.
Proof.
  induction n; simpl; intros H; [lra|].
  pose proof (H n ltac:(lia)). specialize (IHn (fun i Hi => H i ltac:(lia))). lra.
Qed.

(** The combination of positive numbers is positive. *)
Lemma combination_positive f m ts :
  ts <> [] -> forallb (fits f) ts = true -> (forall t, In t ts -> states f m t) ->
  (0 < dot (n_columns f) (weight m) (combined columns ts) + dot (n_at_most f) (signed m) (combined at_most ts)
       + dot (n_balanced f) (free m) (combined balanced ts))%Q.
Proof.
  intros Hne Hf Hs.
  assert (forall t, In t ts -> (0 < inject_Z (multiplier t))%Q) as Hm.
  { intros t Ht. rewrite forallb_forall in Hf. specialize (Hf t Ht). unfold fits in Hf.
    rewrite !andb_true_iff, Z.leb_le in Hf. change 0%Q with (inject_Z 0). rewrite <- Zlt_Qlt. lia. }
  clear Hf. induction ts as [|t ts IH]; [easy|].
  pose proof (Hm t (or_introl eq_refl)) as Hmt. pose proof (Hs t (or_introl eq_refl)) as Hst.
  unfold states in Hst.
  pose proof (Qmult_lt_0_compat _ _ Hmt Hst) as Hprod.
  assert (forall n x of, dot n x (combined of (t :: ts))
                         == inject_Z (multiplier t) * dot n x (at_ (of t)) + dot n x (combined of ts))%Q as Hcons
    by (intros n x of; exact (dot_add n x (at_ (of t)) (combined of ts) (multiplier t))).
  rewrite !Hcons.
  assert (0 <= dot (n_columns f) (weight m) (combined columns ts)
          + dot (n_at_most f) (signed m) (combined at_most ts)
          + dot (n_balanced f) (free m) (combined balanced ts))%Q as Hrest.
  { destruct ts as [|t' ts].
    - assert (forall n x of, dot n x (combined of []) == 0)%Q as Hnil
        by (intros n x of; exact (dot_zero n x)).
      rewrite !Hnil. discriminate.
    - apply Qlt_le_weak, IH; [easy| |]; intros u Hu; [apply Hs|apply Hm]; now right. }
  clear Hcons IH Hst Hmt Hs Hm.
  repeat match goal with |- context [dot ?n ?x ?y] => generalize dependent (dot n x y); intros end.
  lra.
Qed.

Lemma Qle_of_Zle z : z <= 0 -> (inject_Z z <= 0)%Q.
Proof. intros. change 0%Q with (inject_Z 0). now rewrite <- Zle_Qle. Qed.

(** In every model of the family in which the terms hold, an item of the cut is there. (Said without
    the excluded middle: it cannot be that all of them are absent.) *)
Theorem cut_is_sound f m ts items :
  cut f ts = Some items -> in_family f m -> (forall t, In t ts -> states f m t) ->
  ~ (forall item, In item items -> ~ there f m item).
Proof.
  unfold cut. destruct (_ && _ && _ && _) eqn:E; [|easy]. intros [= <-] [Hw Hc] Hs Habsent.
  rewrite !andb_true_iff in E. destruct E as [[[Hne Hf] Hmost] Hbal].
  assert (ts <> []) as Hne' by (intros ->; discriminate).
  pose proof (combination_positive f m ts Hne' Hf Hs) as Hpos.
  assert (dot (n_columns f) (weight m) (combined columns ts) <= 0)%Q as H1.
  { apply dot_at_most_zero. intros i Hi. specialize (Hw i Hi).
    destruct (Z.ltb_spec 0 (combined columns ts i)) as [Hp|Hp].
    - destruct (Qlt_le_dec 0 (weight m i)) as [Hlt|Hle].
      + exfalso. apply (Habsent i); [|left; auto]. apply in_app_iff. left.
        apply filter_In. rewrite in_seq. split; [lia|now apply Z.ltb_lt].
      + assert (weight m i == 0)%Q as -> by lra. lra.
    - pose proof (Qle_of_Zle _ Hp). nra. }
  assert (dot (n_at_most f) (signed m) (combined at_most ts) <= 0)%Q as H2.
  { apply dot_at_most_zero. intros i Hi. specialize (Hc i Hi). rewrite forallb_forall in Hmost.
    specialize (Hmost i ltac:(apply in_seq; lia)). apply Z.leb_le in Hmost.
    pose proof (Qle_of_Zle _ Hmost). nra. }
  assert (dot (n_balanced f) (free m) (combined balanced ts) <= 0)%Q as H3.
  { apply dot_at_most_zero. intros i Hi.
    destruct (Z.eqb_spec (combined balanced ts i) 0) as [->|Hn].
    { change (inject_Z 0) with 0%Q. rewrite Qmult_0_r. apply Qle_refl. }
    assert (existsb (fun i => negb (combined balanced ts i =? 0)) (seq 0 (n_balanced f)) = true) as Hu.
    { apply existsb_exists. exists i. rewrite in_seq. split; [lia|].
      apply negb_true_iff. now apply Z.eqb_neq. }
    rewrite Hu in *. destruct (counted f) eqn:Ecount; [|discriminate].
    destruct (Qeq_dec (free m i) 0) as [->|Hfree].
    { rewrite Qmult_0_l. apply Qle_refl. }
    exfalso. apply (Habsent (n_columns f)).
    - apply in_app_iff. right. simpl. auto.
    - right. split; [assumption|]. split; [reflexivity|]. right. eauto. }
  lra.
Qed.

(** ** Covers *)

(** Lines of a cover: cases are split, or settled by weights of cuts with one denominator. *)
Inductive line := Branch (item : nat) | Dual (denominator : Z) (terms : list (nat * Z)).

Definition member (l : list nat) (x : nat) : bool := existsb (Nat.eqb x) l.

Section Cover.

Variable items : nat.                (* the number of items *)
Variable cost : nat -> Z.
Variable cuts : list (list nat).
Variable bound : Z.

(** What a case says of each item: kept, not there, or nothing. *)
Definition case := nat -> option bool.
Definition kept (d : case) (i : nat) : bool := match d i with Some true => true | _ => false end.
Definition undecided (d : case) (i : nat) : bool := match d i with None => true | _ => false end.
Definition decide (d : case) (item : nat) (b : bool) : case :=
  fun i => if (i =? item)%nat then Some b else d i.

(** A sum over those items that pass a test. *)
Definition over (which : nat -> bool) (f : nat -> Z) : Z :=
  zsum (map (fun i => if which i then f i else 0) (seq 0 items)).

(** The cuts of a dual that count, each with its numerator: those that exist and hold no kept item. *)
Definition live (d : case) (terms : list (nat * Z)) : list (list nat * Z) :=
  filter (fun e => negb (existsb (kept d) (fst e)))
         (map (fun t => (nth (fst t) cuts [], snd t)) terms).

Definition load (l : list (list nat * Z)) (i : nat) : Z :=
  zsum (map (fun e => if member (fst e) i then snd e else 0) l).

Definition dual_ok (d : case) (denominator : Z) (terms : list (nat * Z)) : bool :=
  (0 <? denominator)
  && forallb (fun t => (fst t <? length cuts)%nat && (0 <=? snd t)) terms
  && forallb (fun i => negb (undecided d i) || (load (live d terms) i <=? cost i * denominator)) (seq 0 items)
  && (bound <=? over (kept d) cost + - ((- zsum (map snd (live d terms))) / denominator)).

(** Reads the lines of one case; what is left is for the cases after it. *)
Fixpoint covers (fuel : nat) (d : case) (lines : list line) : option (list line) :=
  match fuel, lines with
  | S fuel, Branch item :: rest =>
      if (item <? items)%nat && undecided d item then
        match covers fuel (decide d item true) rest with
        | Some rest => covers fuel (decide d item false) rest
        | None => None
        end
      else None
  | S _, Dual denominator terms :: rest => if dual_ok d denominator terms then Some rest else None
  | _, _ => None
  end.

Definition cover (lines : list line) : bool :=
  match covers (length lines) (fun _ => None) lines with Some [] => true | _ => false end.

(** Which items are there, in some model: every cut has one of them. *)
Variable is_there : nat -> bool.
Hypothesis every_cut_is_met :
  forall c, In c cuts -> exists i, In i c /\ (i < items)%nat /\ is_there i = true.

Definition agrees (d : case) : Prop := forall i b, d i = Some b -> is_there i = b.

Lemma over_le which f g :
  (forall i, (i < items)%nat -> which i = true -> f i <= g i) -> over which f <= over which g.
Proof.
  intros H. apply zsum_map_le. intros i Hi. apply in_seq in Hi.
  specialize (H i ltac:(lia)). destruct (which i); [auto|lia].
Qed.

Lemma over_one which f i :
  (forall j, (j < items)%nat -> which j = true -> 0 <= f j) ->
  (i < items)%nat -> which i = true -> f i <= over which f.
Proof.
  intros Hf Hi Hw. unfold over. assert (In i (seq 0 items)) as Hin by (apply in_seq; lia).
  assert (forall j, In j (seq 0 items) -> 0 <= (if which j then f j else 0)) as Hn.
  { intros j Hj. apply in_seq in Hj. specialize (Hf j ltac:(lia)). destruct (which j); [auto|lia]. }
  clear Hf Hi. induction (seq 0 items) as [|j l IH]; [easy|]. unfold zsum in *. simpl in *.
  pose proof (Hn j (or_introl eq_refl)) as Hj.
  pose proof (zsum_nonneg (map (fun j => if which j then f j else 0) l)) as Hl.
  assert (0 <= zsum (map (fun j => if which j then f j else 0) l)) as Hl'.
  { apply Hl. intros x Hx. apply in_map_iff in Hx as (j' & <- & ?). auto. }
  unfold zsum in *. destruct Hin as [->|Hin]; [rewrite Hw in *; lia|].
  specialize (IH Hin (fun j' Hj' => Hn j' (or_intror Hj'))). lia.
Qed.

(** The weights of the cuts that count are at most what they put on undecided items that are there. *)
Lemma total_below_loads d l :
  agrees d ->
  (forall c u, In (c, u) l -> In c cuts /\ 0 <= u /\ existsb (kept d) c = false) ->
  zsum (map snd l) <= over (fun i => undecided d i && is_there i) (load l).
Proof.
  intros Hd. induction l as [|(c, u) l IH]; intros Hl.
  - unfold load, over. simpl. apply zsum_nonneg. intros x Hx.
    apply in_map_iff in Hx as (i & <- & _). destruct (_ && _); reflexivity.
  - specialize (IH (fun c' u' H => Hl c' u' (or_intror H))).
    destruct (Hl c u (or_introl eq_refl)) as (Hc & Hu & Hk).
    destruct (every_cut_is_met c Hc) as (i & Hic & Hi & Hti).
    assert (over (fun i => undecided d i && is_there i) (load ((c, u) :: l))
            = over (fun i => undecided d i && is_there i) (fun i => if member c i then u else 0)
              + over (fun i => undecided d i && is_there i) (load l)) as ->.
    { unfold over. rewrite <- zsum_map_add. apply zsum_map_ext. intros j _.
      unfold load. simpl. destruct (_ && _); lia. }
    assert (u <= over (fun i => undecided d i && is_there i) (fun i => if member c i then u else 0)).
    { replace u with (if member c i then u else 0) at 1.
      - apply (over_one (fun i => undecided d i && is_there i) (fun i => if member c i then u else 0)); auto.
        + intros j _ _. destruct (member c j); lia.
        + rewrite Hti, andb_true_r. unfold undecided. destruct (d i) as [[]|] eqn:Edi; auto.
          * exfalso. assert (existsb (kept d) c = true); [|congruence].
            apply existsb_exists. exists i. unfold kept. now rewrite Edi.
          * specialize (Hd i false Edi). congruence.
      - assert (member c i = true) as ->; [|reflexivity].
        apply existsb_exists. exists i. now rewrite Nat.eqb_refl. }
    unfold zsum in *. simpl. lia.
Qed.

Lemma dual_sound d denominator terms :
  agrees d -> dual_ok d denominator terms = true -> bound <= over is_there cost.
Proof.
  intros Hd H. unfold dual_ok in H. rewrite !andb_true_iff, !forallb_forall in H.
  destruct H as [[[Hden Hterms] Hloads] Hbound].
  apply Z.ltb_lt in Hden. apply Z.leb_le in Hbound.
  pose proof (total_below_loads d (live d terms) Hd) as Htotal.
  assert (zsum (map snd (live d terms)) <= over (fun i => undecided d i && is_there i) (load (live d terms))) as Ht.
  { apply Htotal. intros c u Hin. unfold live in Hin. apply filter_In in Hin as [Hin Hk].
    apply in_map_iff in Hin as ((k & v) & [= <- <-] & Hin). specialize (Hterms _ Hin). simpl in *.
    rewrite andb_true_iff, Nat.ltb_lt, Z.leb_le in Hterms. destruct Hterms.
    repeat split; [now apply nth_In|assumption|now apply negb_true_iff]. }
  clear Htotal.
  assert (over (fun i => undecided d i && is_there i) (load (live d terms))
          <= over (fun i => undecided d i && is_there i) (fun i => denominator * cost i)) as Hl.
  { apply over_le. intros i Hi Hw. apply andb_true_iff in Hw as [Hw _].
    specialize (Hloads i ltac:(apply in_seq; lia)). rewrite Hw in Hloads. simpl in Hloads.
    apply Z.leb_le in Hloads. lia. }
  assert (over (fun i => undecided d i && is_there i) (fun i => denominator * cost i)
          = denominator * over (fun i => undecided d i && is_there i) cost) as Hmul.
  { unfold over. rewrite <- zsum_map_mul. apply zsum_map_ext. intros i _. destruct (_ && _); lia. }
  assert (over (kept d) cost + over (fun i => undecided d i && is_there i) cost <= over is_there cost) as Hsplit.
  { unfold over. rewrite <- zsum_map_add. apply zsum_map_le. intros i Hi. apply in_seq in Hi.
    pose proof (Hd i) as Hdi.
    unfold kept, undecided. destruct (d i) as [[]|] eqn:Edi; simpl.
    - rewrite (Hdi true eq_refl). lia.
    - rewrite (Hdi false eq_refl). lia.
    - destruct (is_there i); lia. }
  set (T := zsum (map snd (live d terms))) in *.
  set (X := over (fun i => undecided d i && is_there i) cost) in *.
  assert (- ((- T) / denominator) <= X).
  { assert (- X <= (- T) / denominator); [|lia]. apply Z.div_le_lower_bound; lia. }
  lia.
Qed.

Lemma covers_sound fuel d lines rest :
  agrees d -> covers fuel d lines = Some rest -> bound <= over is_there cost.
Proof.
  revert d lines rest. induction fuel as [|fuel IH]; intros d lines rest Hd; [easy|].
  destruct lines as [|[item|denominator terms] lines]; simpl; [easy| |].
  - destruct (_ && _) eqn:E; [|easy].
    destruct (covers fuel (decide d item true) lines) as [rest'|] eqn:E1; [|easy]. intros E2.
    assert (forall b, is_there item = b -> agrees (decide d item b)) as Hdecide.
    { intros b Hb i b'. unfold decide. destruct (Nat.eqb_spec i item) as [->|]; [|apply Hd].
      intros [= <-]. exact Hb. }
    destruct (is_there item); [exact (IH _ _ _ (Hdecide _ eq_refl) E1)|exact (IH _ _ _ (Hdecide _ eq_refl) E2)].
  - destruct (dual_ok _ _ _) eqn:E; [|easy]. intros _. now apply dual_sound in E.
Qed.

(** An accepted cover: the items that are there cost at least the bound. *)
Theorem cover_is_sound lines : cover lines = true -> bound <= over is_there cost.
Proof.
  unfold cover. destruct (covers _ _ _) as [rest|] eqn:E; [|easy]. intros _.
  eapply covers_sound; [|exact E]. intros i b. discriminate.
Qed.

End Cover.

(** ** Crossings *)

(** A crossing: two inputs that differ in one column alone, at the positions low < high, and that the
    model must separate. A split by one threshold separates them if it is on that column and the
    threshold has them on different sides: low <= threshold < high. *)
Definition crossing := (nat * (Z * Z))%type.
Definition separates (s : nat * Z) (x : crossing) : Prop :=
  fst s = fst x /\ fst (snd x) <= snd s < snd (snd x).

Definition apart (x y : crossing) : bool :=
  negb (fst x =? fst y)%nat || (snd (snd x) <=? fst (snd y)) || (snd (snd y) <=? fst (snd x)).

Fixpoint crossings_ok (l : list crossing) : bool :=
  match l with [] => true | x :: rest => (fst (snd x) <? snd (snd x)) && forallb (apart x) rest && crossings_ok rest end.

(** A model that separates all of them has at least as many splits. *)
Theorem crossings_are_sound l (splits : list (nat * Z)) :
  crossings_ok l = true -> (forall x, In x l -> exists s, In s splits /\ separates s x) ->
  (length l <= length splits)%nat.
Proof.
  intros Hok Hsep.
  assert (exists chosen, Forall2 separates chosen l /\ incl chosen splits /\ NoDup chosen) as (chosen & H2 & Hincl & Hnd).
  { induction l as [|x l IH].
    - exists []. repeat split; [constructor|easy|constructor].
    - simpl in Hok. rewrite !andb_true_iff in Hok. destruct Hok as [[_ Hap] Hok].
      destruct (IH Hok (fun y Hy => Hsep y (or_intror Hy))) as (chosen & H2 & Hincl & Hnd).
      destruct (Hsep x (or_introl eq_refl)) as (s & Hs & Hsx).
      exists (s :: chosen). repeat split; [constructor; assumption| |].
      + intros t [<-|Ht]; auto.
      + constructor; [|assumption]. intros Hin.
        assert (exists y, In y l /\ separates s y) as (y & Hy & Hsy).
        { clear - H2 Hin. induction H2; [easy|]. destruct Hin as [->|Hin]; [exists y; simpl; auto|].
          destruct (IHForall2 Hin) as (y' & ? & ?). exists y'. simpl. auto. }
        rewrite forallb_forall in Hap. specialize (Hap y Hy). unfold apart in Hap.
        destruct Hsx as [Hc Hsx], Hsy as [Hcy Hsy].
        rewrite !orb_true_iff, negb_true_iff, Nat.eqb_neq, !Z.leb_le in Hap. lia. }
  replace (length l) with (length chosen) by (clear - H2; induction H2; simpl; congruence).
  now apply NoDup_incl_length.
Qed.
