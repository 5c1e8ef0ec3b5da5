(** Section 2: pieces and their joint leaves.

    A joint leaf is kept as its region, which is a list of cells for every axis, and as what it adds.
    That regions are products of sets of cells is a fact about trees: each split asks about one axis.
    The kernel is free to find joint leaves in another way; the lemmas at the end say that the list
    here is exactly that of the page: the non-empty intersections of one leaf of each tree. *)

From Coq Require Import ZArith List Bool Lia Arith Permutation.
From Secateur Require Import Numbers Problem.
Import ListNotations.

Definition region := list (list nat).
Definition in_region (r : region) (c : cell) : Prop := Forall2 (fun cells x => In x cells) r c.

(** The part of a region whose cells of one axis pass a test. *)
Fixpoint restrict (axis : nat) (keep : nat -> bool) (r : region) : region :=
  match r, axis with
  | [], _ => []
  | cells :: rest, O => filter keep cells :: rest
  | cells :: rest, S axis => cells :: restrict axis keep rest
  end.

Definition is_nil {A} (l : list A) : bool := match l with [] => true | _ => false end.
Definition empty (r : region) : bool := existsb is_nil r.

(** The leaves of one tree inside of a region, then of several trees. *)
Fixpoint leaves (t : tree) (r : region) : list (region * added) :=
  if empty r then [] else
  match t with
  | Leaf adds => [(r, adds)]
  | Split axis cells yes no =>
      leaves yes (restrict axis (goes_yes cells) r)
      ++ leaves no (restrict axis (fun x => negb (goes_yes cells x)) r)
  end.

Fixpoint joint (ts : list tree) (r : region) : list (region * added) :=
  match ts with
  | [] => if empty r then [] else [(r, [])]
  | t :: rest =>
      flat_map (fun leaf => map (fun more => (fst more, snd leaf ++ snd more)) (joint rest (fst leaf)))
               (leaves t r)
  end.

Definition everything (p : problem) : region := map (fun size => seq 0 size) (axes p).
Definition joint_leaves (p : problem) (ts : list tree) := joint ts (everything p).

(** Does a joint leaf meet a box? *)
Fixpoint meets (r : region) (b : box) : bool :=
  match r, b with
  | [], [] => true
  | cells :: r, g :: b => existsb (withinb g) cells && meets r b
  | _, _ => false
  end.

(** ** Every cell is in a joint leaf *)

Lemma in_region_not_empty r c : in_region r c -> empty r = false.
Proof.
  induction 1; [reflexivity|]. simpl. destruct x; [easy|]. exact IHForall2.
Qed.

Lemma restrict_keeps axis keep r c :
  in_region r c -> keep (nth axis c 0) = true -> in_region (restrict axis keep r) c.
Proof.
  intros H. revert axis. induction H; intros [|axis] Hk; simpl in *; try constructor; auto.
  - apply filter_In. auto.
  - now apply IHForall2.
Qed.

Lemma leaves_cover t r c :
  in_region r c -> exists r', In (r', reach t c) (leaves t r) /\ in_region r' c.
Proof.
  revert r. induction t as [adds|axis cells yes IHy no IHn]; intros r H; simpl;
    rewrite (in_region_not_empty r c H).
  - exists r. simpl. auto.
  - destruct (goes_yes cells (nth axis c 0)) eqn:E.
    + destruct (IHy (restrict axis (goes_yes cells) r)) as (r' & ? & ?).
      { now apply restrict_keeps. }
      exists r'. rewrite in_app_iff. auto.
    + destruct (IHn (restrict axis (fun x => negb (goes_yes cells x)) r)) as (r' & ? & ?).
      { apply restrict_keeps; [assumption|]. now rewrite E. }
      exists r'. rewrite in_app_iff. auto.
Qed.

Definition reached (ts : list tree) (c : cell) : added := concat (map (fun t => reach t c) ts).

Lemma joint_cover ts r c :
  in_region r c -> exists r', In (r', reached ts c) (joint ts r) /\ in_region r' c.
Proof.
  revert r. induction ts as [|t ts IH]; intros r H; simpl.
  - rewrite (in_region_not_empty r c H). exists r. simpl. auto.
  - destruct (leaves_cover t r c H) as (r1 & Hin & H1).
    destruct (IH r1 H1) as (r2 & Hin2 & H2).
    exists r2. split; [|assumption].
    apply in_flat_map. eexists. split; [exact Hin|].
    apply in_map_iff. eexists. split; [|exact Hin2]. reflexivity.
Qed.

Lemma in_whole_everything p c : in_box (whole p) c -> in_region (everything p) c.
Proof.
  unfold in_box, in_region, whole, everything. revert c.
  induction (axes p) as [|size l IH]; simpl; intros c H; inversion H; subst; constructor; auto.
  apply in_seq. unfold within in H2. simpl in H2. lia.
Qed.

Lemma everything_in_whole p c : in_region (everything p) c -> in_box (whole p) c.
Proof.
  unfold in_box, in_region, whole, everything. revert c.
  induction (axes p) as [|size l IH]; simpl; intros c H; inversion H; subst; constructor; auto.
  apply in_seq in H2. unfold within. simpl. lia.
Qed.

Theorem every_cell_is_in_a_joint_leaf p ts c :
  in_box (whole p) c ->
  exists r, In (r, reached ts c) (joint_leaves p ts) /\ in_region r c.
Proof. intros. apply joint_cover. now apply in_whole_everything. Qed.

(** ** Nothing else is a joint leaf *)

Lemma meets_if_common r b c : in_region r c -> in_box b c -> meets r b = true.
Proof.
  intros H. revert b. induction H; intros b Hb; inversion Hb; subst; [reflexivity|].
  simpl. apply andb_true_iff. split; [|auto].
  apply existsb_exists. exists y. split; [assumption|]. now apply withinb_iff.
Qed.

(** "have a cell in common" *)
Theorem meets_iff r b : meets r b = true <-> exists c, in_region r c /\ in_box b c.
Proof.
  split; [|intros (c & H & Hb); eapply meets_if_common; eauto].
  revert b. induction r as [|cells r IH]; intros [|g b]; simpl; try easy.
  - intros _. exists []. split; constructor.
  - rewrite andb_true_iff, existsb_exists. intros [(x & Hin & Hx) Hm].
    destruct (IH b Hm) as (c & ? & ?). exists (x :: c).
    split; constructor; auto. now apply withinb_iff.
Qed.

Lemma not_empty_inhabited r : empty r = false -> exists c, in_region r c.
Proof.
  induction r as [|cells r IH]; simpl; intros H.
  - exists []. constructor.
  - apply orb_false_iff in H as [H1 H2]. destruct (IH H2) as (c & ?).
    destruct cells as [|x cells]; [discriminate|].
    exists (x :: c). constructor; simpl; auto.
Qed.

Lemma restrict_in axis keep r c :
  axis < length r -> in_region (restrict axis keep r) c ->
  in_region r c /\ keep (nth axis c 0) = true.
Proof.
  revert axis c. induction r as [|cells r IH]; simpl; intros axis c Hl H; [lia|].
  destruct axis; inversion H; subst.
  - apply filter_In in H2 as [? ?]. split; [constructor; assumption|assumption].
  - destruct (IH axis l' ltac:(lia) H4). split; [constructor; assumption|assumption].
Qed.

Lemma restrict_length axis keep r : length (restrict axis keep r) = length r.
Proof. revert axis. induction r; intros [|axis]; simpl; auto. Qed.

(** The splits of a tree name axes that there are. *)
Fixpoint names_axes (n : nat) (t : tree) : Prop :=
  match t with
  | Leaf _ => True
  | Split axis _ yes no => axis < n /\ names_axes n yes /\ names_axes n no
  end.

Lemma tree_ok_names_axes sizes s t : tree_ok sizes s t = true -> names_axes (length sizes) t.
Proof.
  induction t; simpl; [easy|]. destruct (nth_error sizes axis) eqn:E; [|easy].
  rewrite !andb_true_iff. intros [[_ ?] ?]. repeat split; auto.
  apply nth_error_Some. now rewrite E.
Qed.

Lemma leaves_exact t r r' adds :
  names_axes (length r) t -> In (r', adds) (leaves t r) ->
  empty r' = false /\ length r' = length r
  /\ (exists w, forall c, in_region r' c <-> in_region r c /\ way t c = w)
  /\ (forall c, in_region r' c -> reach t c = adds).
Proof.
  revert r. induction t as [own|axis cells yes IHy no IHn]; intros r Hn; simpl;
    destruct (empty r) eqn:E; simpl; try easy.
  - intros [[= -> ->]|[]]. repeat split; auto. exists []. intuition.
  - destruct Hn as (Ha & Hy & Hno). rewrite in_app_iff. intros [Hin|Hin].
    + destruct (IHy _ ltac:(rewrite restrict_length; exact Hy) Hin) as (? & Hl & (w & Hw) & Hv).
      rewrite restrict_length in Hl. repeat split; auto.
      * exists (true :: w). intros c. rewrite Hw. split.
        -- intros (Hr & Hway). destruct (restrict_in _ _ _ _ Ha Hr) as [? ->]. split; congruence.
        -- intros (Hr & Hway). destruct (goes_yes cells (nth axis c 0)) eqn:G; [|discriminate].
           injection Hway as Hway. split; auto. now apply restrict_keeps.
      * intros c Hc. pose proof (proj1 (Hw c) Hc) as (Hr & _).
        destruct (restrict_in _ _ _ _ Ha Hr) as [_ ->]. auto.
    + destruct (IHn _ ltac:(rewrite restrict_length; exact Hno) Hin) as (? & Hl & (w & Hw) & Hv).
      rewrite restrict_length in Hl. repeat split; auto.
      * exists (false :: w). intros c. rewrite Hw. split.
        -- intros (Hr & Hway). destruct (restrict_in _ _ _ _ Ha Hr) as [? Hk].
           apply negb_true_iff in Hk. rewrite Hk. split; congruence.
        -- intros (Hr & Hway). destruct (goes_yes cells (nth axis c 0)) eqn:G; [discriminate|].
           injection Hway as Hway. split; auto. apply restrict_keeps; [assumption|]. now rewrite G.
      * intros c Hc. pose proof (proj1 (Hw c) Hc) as (Hr & _).
        destruct (restrict_in _ _ _ _ Ha Hr) as [_ Hk].
        apply negb_true_iff in Hk. rewrite Hk. auto.
Qed.

Definition ways (ts : list tree) (c : cell) : list (list bool) := map (fun t => way t c) ts.

(** A joint leaf that is listed has a cell, its cells are those that go one way through each tree, and
    they all reach what the joint leaf adds. *)
Lemma joint_exact ts r r' adds :
  Forall (names_axes (length r)) ts -> In (r', adds) (joint ts r) ->
  empty r' = false /\ length r' = length r
  /\ (exists ws, forall c, in_region r' c <-> in_region r c /\ ways ts c = ws)
  /\ (forall c, in_region r' c -> reached ts c = adds).
Proof.
  revert r r' adds. induction ts as [|t ts IH]; intros r r' adds Hn; simpl.
  - destruct (empty r) eqn:E; simpl; [easy|]. intros [[= -> <-]|[]].
    repeat split; auto. exists []. unfold ways. simpl. intuition.
  - inversion Hn; subst. intros Hin. apply in_flat_map in Hin as ((r1 & a1) & Hin1 & Hin).
    apply in_map_iff in Hin as ((r2 & a2) & [= -> <-] & Hin2). simpl in Hin2.
    destruct (leaves_exact _ _ _ _ H1 Hin1) as (_ & Hl1 & (w & Hw) & Hv).
    rewrite <- Hl1 in H2. destruct (IH _ _ _ H2 Hin2) as (He & Hl2 & (ws & Hws) & Hvs).
    repeat split; [assumption|congruence| |].
    + exists (w :: ws). intros c. rewrite Hws, Hw. unfold ways. simpl. split.
      * intros ((? & ?) & ?). split; congruence.
      * intros (? & Heq). injection Heq as ? ?. auto.
    + intros c Hc. pose proof (proj1 (Hws c) Hc) as (Hr1 & _).
      unfold reached. simpl. rewrite (Hv c Hr1). f_equal. exact (Hvs c Hc).
Qed.

Theorem joint_leaves_are_the_intersections p ts r adds :
  Forall (names_axes (length (axes p))) ts -> In (r, adds) (joint_leaves p ts) ->
  (exists c, in_region r c)
  /\ (exists ws, forall c, in_region r c <-> in_box (whole p) c /\ ways ts c = ws)
  /\ (forall c, in_region r c -> reached ts c = adds).
Proof.
  intros Hn Hin. assert (length (everything p) = length (axes p)) as Hl by apply map_length.
  rewrite <- Hl in Hn. destruct (joint_exact _ _ _ _ Hn Hin) as (He & _ & (ws & Hws) & Hv).
  repeat split; [now apply not_empty_inhabited| |assumption].
  exists ws. intros c. rewrite Hws. split; intros (? & ?); split; auto.
  - now apply everything_in_whole.
  - now apply in_whole_everything.
Qed.

(** ** Tables *)

(** Numbers in groups of neighbours that are alike. *)
Fixpoint groups (alike : nat -> nat -> bool) (l : list nat) : list (list nat) :=
  match l with
  | [] => []
  | x :: rest =>
      match groups alike rest with
      | (y :: first) :: others =>
          if alike x y then (x :: y :: first) :: others else [x] :: (y :: first) :: others
      | others => [x] :: others
      end
  end.

Lemma groups_concat alike l : concat (groups alike l) = l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. simpl.
  destruct (groups alike l) as [|[|y first] others]; simpl in *; [now rewrite IH..|].
  destruct (alike x y); simpl; now rewrite IH.
Qed.

(** All splits of a tree on an axis. *)
Fixpoint splits_on (axis : nat) (t : tree) : list (list range) :=
  match t with
  | Leaf _ => []
  | Split own cells yes no =>
      (if own =? axis then [cells] else []) ++ splits_on axis yes ++ splits_on axis no
  end.

Definition looks_at (p : problem) (ts : list tree) (axis : nat) : bool :=
  let cells := seq 0 (nth axis (axes p) 0) in
  existsb (fun s => existsb (goes_yes s) cells && existsb (fun x => negb (goes_yes s x)) cells)
          (flat_map (splits_on axis) ts).

Definition runs (p : problem) (ts : list tree) (axis : nat) : list (list nat) :=
  groups (fun x y => forallb (fun s => Bool.eqb (goes_yes s x) (goes_yes s y))
                             (flat_map (splits_on axis) ts))
         (seq 0 (nth axis (axes p) 0)).

Definition member (l : list nat) (x : nat) : bool := existsb (Nat.eqb x) l.

Lemma existsb_eqb x l : existsb (Nat.eqb x) l = true <-> In x l.
Proof.
  rewrite existsb_exists. split.
  - intros (y & ? & E). apply Nat.eqb_eq in E. now subst.
  - intros. exists x. now rewrite Nat.eqb_refl.
Qed.

(** The joint leaves of a piece. A table has one for each run of its axis: the cells of a run go the
    same way at every split, so there is one intersection in each. *)
Definition leaves_of (p : problem) (ts : list tree) : list (region * added) :=
  match filter (looks_at p ts) (seq 0 (length (axes p))) with
  | [axis] => flat_map (fun run => joint ts (restrict axis (member run) (everything p))) (runs p ts axis)
  | _ => joint_leaves p ts
  end.

Theorem pieces_cover p ts c :
  in_box (whole p) c -> exists r, In (r, reached ts c) (leaves_of p ts) /\ in_region r c.
Proof.
  intros Hc. unfold leaves_of.
  destruct (filter (looks_at p ts) (seq 0 (length (axes p)))) as [|axis [|]] eqn:E;
    try now apply every_cell_is_in_a_joint_leaf.
  apply in_whole_everything in Hc.
  assert (In (nth axis c 0) (concat (runs p ts axis))) as Hin.
  { unfold runs. rewrite groups_concat.
    assert (axis < length (axes p)) as Ha.
    { assert (In axis [axis]) as Hin by (simpl; auto). rewrite <- E in Hin.
      apply filter_In in Hin as [Hin _]. apply in_seq in Hin. lia. }
    clear E. unfold everything, in_region in Hc. revert axis c Hc Ha.
    induction (axes p) as [|size l IH]; simpl; intros axis c Hc Ha; [lia|].
    inversion Hc; subst. destruct axis; [assumption|]. simpl. apply IH; [assumption|lia]. }
  apply in_concat in Hin as (run & Hrun & Hin).
  destruct (joint_cover ts (restrict axis (member run) (everything p)) c) as (r & ? & ?).
  { apply restrict_keeps; [assumption|]. now apply existsb_eqb. }
  exists r. split; [|assumption]. apply in_flat_map. eauto.
Qed.

(** ** Stacks *)

(** The trees of each piece: those of the stacks, then each tree that is in no stack. *)
Definition rest_of (n : nat) (stacks : list (list nat)) : list nat :=
  filter (fun i => negb (existsb (Nat.eqb i) (concat stacks))) (seq 0 n).

Fixpoint distinct (l : list nat) : bool :=
  match l with [] => true | x :: rest => negb (existsb (Nat.eqb x) rest) && distinct rest end.

Definition stacks_ok (n : nat) (stacks : list (list nat)) : bool :=
  forallb (fun s => negb (is_nil s)) stacks
  && forallb (fun i => i <? n) (concat stacks) && distinct (concat stacks).

Definition numbers_of_pieces (n : nat) (stacks : list (list nat)) : list (list nat) :=
  stacks ++ map (fun i => [i]) (rest_of n stacks).

Definition trees_of (p : problem) (numbers : list nat) : list tree :=
  map (fun i => nth i (trees p) (Leaf [])) numbers.

Definition pieces (p : problem) (stacks : list (list nat)) : list (list tree) :=
  map (trees_of p) (numbers_of_pieces (length (trees p)) stacks).

Lemma distinct_nodup l : distinct l = true -> NoDup l.
Proof.
  induction l; simpl; [constructor|]. rewrite andb_true_iff, negb_true_iff. intros [H1 H2].
  constructor; [|auto]. intros Hin. apply existsb_eqb in Hin. congruence.
Qed.

Lemma concat_singles {A} (l : list A) : concat (map (fun i => [i]) l) = l.
Proof. induction l; simpl; congruence. Qed.

Lemma each_tree_once n stacks :
  stacks_ok n stacks = true -> Permutation (concat (numbers_of_pieces n stacks)) (seq 0 n).
Proof.
  unfold stacks_ok, numbers_of_pieces. rewrite !andb_true_iff, forallb_forall.
  intros [[_ Hin] Hd]. rewrite forallb_forall in Hin.
  rewrite concat_app, concat_singles.
  apply NoDup_Permutation.
  - assert (forall a b, NoDup a -> NoDup b -> (forall x : nat, In x a -> ~ In x b) -> NoDup (a ++ b)) as Happ.
    { induction a; simpl; intros b Ha Hb Hab; [assumption|]. inversion Ha; subst.
      constructor; [|apply IHa; auto]. rewrite in_app_iff. intros [|]; [easy|]. eapply Hab; eauto. }
    apply Happ.
    + now apply distinct_nodup.
    + apply NoDup_filter, seq_NoDup.
    + intros x Hx Hr. apply filter_In in Hr as [_ Hr]. apply existsb_eqb in Hx. now rewrite Hx in Hr.
  - apply seq_NoDup.
  - intros x. rewrite in_app_iff. unfold rest_of. rewrite filter_In, in_seq. split.
    + intros [H|[H _]]; [|lia]. apply Hin, Nat.ltb_lt in H. lia.
    + intros H. destruct (existsb (Nat.eqb x) (concat stacks)) eqn:E.
      * left. now apply existsb_eqb.
      * right. split; [lia|reflexivity].
Qed.

Lemma nth_seq {A} (l : list A) d : map (fun i => nth i l d) (seq 0 (length l)) = l.
Proof.
  induction l as [|a l IH]; simpl; [reflexivity|]. f_equal.
  rewrite <- seq_shift, map_map. exact IH.
Qed.

(** Any division into stacks that is accepted holds every tree exactly once. *)
Theorem pieces_hold_each_tree_once p stacks :
  stacks_ok (length (trees p)) stacks = true -> Permutation (concat (pieces p stacks)) (trees p).
Proof.
  intros H. unfold pieces, trees_of. rewrite <- concat_map.
  eapply Permutation_trans; [apply Permutation_map, each_tree_once, H|].
  rewrite nth_seq. apply Permutation_refl.
Qed.
