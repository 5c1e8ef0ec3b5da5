(** Sections 3 and 4: lenses, and what the rules [close], [narrow], [split] and [cells] ask. *)

From Coq Require Import ZArith List Bool Lia Arith Permutation.
From Secateur Require Import Numbers Problem Pieces.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Lenses *)

(** A combination of rows, for what is added somewhere, and for the bounds. *)
Definition combined (rs : list row) (ms : list Z) (a : added) : Z :=
  zsum (map (fun mr => fst mr * row_value (snd mr) a) (combine ms rs)).
Definition combined_bound (rs : list row) (ms : list Z) : Z :=
  zsum (map (fun mr => fst mr * bound (snd mr)) (combine ms rs)).

Record lens := {
  width : Z;                             (* B of the page *)
  shift : Z;                             (* s of the page *)
  values : list (list (region * Z));     (* for each piece its joint leaves, each with its v' *)
  needed : Z;                            (* b' of the page *)
}.

Definition make_lens (p : problem) (ps : list (list tree)) (ms : list Z) : lens :=
  let exact := map (fun ts => map (fun leaf => (fst leaf, combined (rows p) ms (snd leaf)))
                                  (leaves_of p ts)) ps in
  let b := combined_bound (rows p) ms in
  let most piece := match largest (map (fun leaf : region * Z => Z.abs (snd leaf)) piece) with
                    | Some m => m | None => 0 end in
  let w := zsum (map most exact) in
  let B := Z.max (bits w) (bits b) in
  let s := Z.max 0 (B - 120) in
  {| width := B; shift := s;
     values := map (map (fun leaf => (fst leaf, up s (snd leaf)))) exact;
     needed := up s b |}.

(** The largest value of the leaves of one piece that meet a box, and the sum over all pieces. *)
Definition upper_of_piece (b : box) (piece : list (region * Z)) : option Z :=
  largest (map snd (filter (fun leaf => meets (fst leaf) b) piece)).

Fixpoint upper (b : box) (ps : list (list (region * Z))) : option Z :=
  match ps with
  | [] => Some 0
  | piece :: rest =>
      match upper_of_piece b piece, upper b rest with Some x, Some y => Some (x + y) | _, _ => None end
  end.

Definition closes (l : lens) (b : box) : bool :=
  match upper b (values l) with Some u => u <? needed l | None => false end.

(** *** Why a closed box has no solution *)

Lemma combined_app rs ms a b : combined rs ms (a ++ b) = combined rs ms a + combined rs ms b.
Proof.
  unfold combined. rewrite <- zsum_map_add. apply zsum_map_ext. intros. rewrite row_value_app. lia.
Qed.

Lemma combined_nil rs ms : combined rs ms [] = 0.
Proof.
  unfold combined. induction (combine ms rs); simpl; [reflexivity|]. rewrite row_value_nil. lia.
Qed.

Lemma combined_concat rs ms l : combined rs ms (concat l) = zsum (map (combined rs ms) l).
Proof.
  induction l; simpl; [apply combined_nil|]. rewrite combined_app. lia.
Qed.

(** What all pieces add is what all trees add. *)
Lemma sum_over_pieces p ps rs ms c :
  Permutation (concat ps) (trees p) ->
  zsum (map (fun ts => combined rs ms (reached ts c)) ps) = combined rs ms (total p c).
Proof.
  intros H. unfold total. rewrite combined_concat, map_map.
  rewrite <- (zsum_permutation _ _ (Permutation_map (fun t => combined rs ms (reach t c)) H)).
  rewrite concat_map, zsum_concat, map_map. apply zsum_map_ext. intros ts _.
  unfold reached. now rewrite combined_concat, map_map.
Qed.

(** A solution reaches every combination of rows with multipliers of at least zero. *)
Lemma solution_reaches p ms c :
  (forall m, In m ms -> 0 <= m) -> solution p c ->
  combined_bound (rows p) ms <= combined (rows p) ms (total p c).
Proof.
  intros Hm [_ Hs]. rewrite Forall_forall in Hs. unfold combined_bound, combined.
  apply zsum_map_le. intros (m & r) Hin. simpl.
  pose proof (Hm m (in_combine_l _ _ _ _ Hin)). pose proof (Hs r (in_combine_r _ _ _ _ Hin)).
  unfold satisfies in *. nia.
Qed.

(** The rounded values of the joint leaves that a cell is in are at most the upper bound. *)
Lemma upper_above p ps (f : added -> Z) b c u :
  in_box (whole p) c -> in_box b c ->
  upper b (map (fun ts => map (fun leaf => (fst leaf, f (snd leaf))) (leaves_of p ts)) ps) = Some u ->
  zsum (map (fun ts => f (reached ts c)) ps) <= u.
Proof.
  intros Hw Hb. revert u. induction ps as [|ts ps IH]; simpl; intros u.
  - intros [= <-]. reflexivity.
  - destruct (upper_of_piece _ _) as [x|] eqn:Ex; [|easy].
    destruct (upper b _) as [y|] eqn:Ey; [|easy]. intros [= <-].
    specialize (IH y eq_refl).
    destruct (pieces_cover p ts c Hw) as (r & Hin & Hr).
    unfold upper_of_piece in Ex. 
    edestruct (largest_above (map snd (filter (fun leaf => meets (fst leaf) b)
       (map (fun leaf => (fst leaf, f (snd leaf))) (leaves_of p ts)))) (f (reached ts c))) as (x' & Ex' & ?).
    { apply in_map_iff. exists (r, f (reached ts c)). split; [reflexivity|].
      apply filter_In. split; [|now apply (meets_if_common r b c)].
      apply in_map_iff. exists (r, reached ts c). auto. }
    rewrite Ex in Ex'. injection Ex' as <-. lia.
Qed.

Theorem closed_box_has_no_solution p ps ms b c :
  Permutation (concat ps) (trees p) ->
  (forall m, In m ms -> 0 <= m) ->
  closes (make_lens p ps ms) b = true ->
  in_box b c -> ~ solution p c.
Proof.
  intros Hp Hm Hcl Hb Hs. pose proof (proj1 Hs) as Hw.
  pose proof (solution_reaches p ms c Hm Hs) as Hreach.
  rewrite <- (sum_over_pieces p ps _ _ c Hp) in Hreach.
  unfold closes, make_lens in Hcl. simpl in Hcl.
  set (s := Z.max 0 _) in Hcl.
  pose proof (rounding_only_refuses s _ _ (Z.le_max_l 0 _) Hreach) as Hround.
  rewrite map_map in Hcl. rewrite map_map in Hround.
  rewrite (map_ext _ (fun ts => map (fun leaf => (fst leaf, (fun a => up s (combined (rows p) ms a)) (snd leaf)))
                                    (leaves_of p ts))) in Hcl.
  2: { intros ts. rewrite map_map. reflexivity. }
  destruct (upper b _) as [u|] eqn:Eu; [|easy].
  pose proof (upper_above p ps (fun a => up s (combined (rows p) ms a)) b c u Hw Hb Eu) as Hu.
  apply Z.ltb_lt in Hcl.
  exact (Z.lt_irrefl _ (Z.le_lt_trans _ _ _ Hround (Z.le_lt_trans _ _ _ Hu Hcl))).
Qed.

(** ** Boxes *)

Fixpoint set_range (axis : nat) (g : range) (b : box) : box :=
  match b, axis with
  | [], _ => []
  | _ :: rest, O => g :: rest
  | own :: rest, S axis => own :: set_range axis g rest
  end.

Lemma set_range_in axis g own b c :
  nth_error b axis = Some own -> in_box b c -> within g (nth axis c 0%nat) ->
  in_box (set_range axis g b) c.
Proof.
  intros Ha H. revert axis Ha. induction H; intros [|axis] Ha Hg; simpl in *; try easy.
  - constructor; assumption.
  - constructor; [assumption|]. now apply IHForall2.
Qed.

Lemma range_of axis own b c : nth_error b axis = Some own -> in_box b c -> within own (nth axis c 0%nat).
Proof.
  intros Ha H. revert axis Ha. induction H; intros [|axis] Ha; simpl in *; try easy.
  - now injection Ha as <-.
  - now apply IHForall2.
Qed.

(** ** All cells of a box *)

Fixpoint cells_of (b : box) : list cell :=
  match b with
  | [] => [[]]
  | g :: rest => flat_map (fun x => map (cons x) (cells_of rest)) (seq (fst g) (snd g - fst g))
  end.

Lemma cells_of_all b c : in_box b c -> In c (cells_of b).
Proof.
  induction 1; simpl; [auto|]. apply in_flat_map. exists y. split.
  - apply in_seq. unfold within in H. lia.
  - now apply in_map.
Qed.

(** Does a cell fail a row, compared exactly? *)
Definition fails (p : problem) (c : cell) : bool :=
  negb (forallb (fun r => satisfiesb r (total p c)) (rows p)).

Lemma fails_no_solution p c : fails p c = true -> ~ solution p c.
Proof.
  unfold fails. rewrite negb_true_iff. intros H [_ Hs]. rewrite Forall_forall in Hs.
  assert (forallb (fun r => satisfiesb r (total p c)) (rows p) = true); [|congruence].
  apply forallb_forall. intros r Hr. apply satisfiesb_iff. auto.
Qed.
