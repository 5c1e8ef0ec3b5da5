(** Sections 5 and 6: the arguments behind [join] and [meet].

    Not a checker, as in Kernel.v, but the facts that the page's reasons rest on, each by itself. *)

From Coq Require Import ZArith List Bool Lia Arith Permutation.
From Secateur Require Import Numbers Problem Pieces Rules.
Import ListNotations.
Local Open Scope Z_scope.

(** ** Classes *)

(** Two cells that, axis by axis, the same ones of some joint leaves hold are in the same ones of them:
    joint leaves are products. So the joint leaf of a piece depends on the classes alone. *)
Theorem same_classes_same_joint_leaf (r : region) (c d : cell) :
  length c = length d ->
  (forall axis, In (nth axis c 0%nat) (nth axis r []) <-> In (nth axis d 0%nat) (nth axis r [])) ->
  in_region r c -> in_region r d.
Proof.
  intros Hl Hsame H. revert d Hl Hsame. induction H as [|cells x r c Hx H IH]; intros [|y d] Hl Hsame;
    simpl in Hl; try discriminate; constructor.
  - exact (proj1 (Hsame O) Hx).
  - apply IH; [lia|]. intros axis. exact (Hsame (S axis)).
Qed.

(** Cells that go the same way through every tree reach the same leaves, so they add the same. *)
Lemma same_way_same_leaf t c d : way t c = way t d -> reach t c = reach t d.
Proof.
  induction t as [adds|axis cells yes IHy no IHn]; simpl; [reflexivity|].
  destruct (goes_yes cells (nth axis c 0%nat)), (goes_yes cells (nth axis d 0%nat));
    intros [= H]; auto.
Qed.

Lemma same_ways_same_total p c d : ways (trees p) c = ways (trees p) d -> total p c = total p d.
Proof.
  unfold ways, total. induction (trees p) as [|t ts IH]; simpl; [reflexivity|].
  intros [= Ht Hts]. rewrite (same_way_same_leaf t c d Ht). f_equal. now apply IH.
Qed.

(** ** One cell for all cells of a pair *)

(** What [join] needs of an excuse: it depends on nothing but the leaves that are reached. *)
Definition by_leaves (p : problem) (excuse : cell -> bool) : Prop :=
  forall c d, ways (trees p) c = ways (trees p) d -> excuse c = excuse d.

Lemma one_stands_for_all p excuse c d :
  by_leaves p excuse -> ways (trees p) c = ways (trees p) d ->
  fails p d || excuse d = true -> fails p c || excuse c = true.
Proof.
  intros He Hw. unfold fails. rewrite (same_ways_same_total p c d Hw), (He c d Hw). auto.
Qed.

(** Numbers of a lens that are rounded once more. *)
Definition twice (s t v : Z) : Z := up t (up s v).

(** [join], with the lists put together: if every cell of the box at which both rounded rows reach their
    bounds goes through all trees as some cell that passes [cells], then the box has no solution that is
    not excused. [s] and [t] may be any shifts, so rounding can only refuse here, too. *)
Theorem join_is_sound p ps excuse (b : box) (f g : list Z) (sf tf sg tg : Z) :
  Permutation (concat ps) (trees p) ->
  by_leaves p excuse ->
  (forall m, In m f -> 0 <= m) -> (forall m, In m g -> 0 <= m) ->
  0 <= sf -> 0 <= tf -> 0 <= sg -> 0 <= tg ->
  (forall c, in_box (whole p) c -> in_box b c ->
     twice sf tf (combined_bound (rows p) f)
       <= zsum (map (fun ts => twice sf tf (combined (rows p) f (reached ts c))) ps) ->
     twice sg tg (combined_bound (rows p) g)
       <= zsum (map (fun ts => twice sg tg (combined (rows p) g (reached ts c))) ps) ->
     exists d, ways (trees p) c = ways (trees p) d /\ fails p d || excuse d = true) ->
  forall c, in_box b c -> solution p c -> excuse c = true.
Proof.
  intros Hp He Hf Hg Hsf Htf Hsg Htg Hpairs c Hb Hs.
  assert (forall ms s t, (forall m, In m ms -> 0 <= m) -> 0 <= s -> 0 <= t ->
            twice s t (combined_bound (rows p) ms)
            <= zsum (map (fun ts => twice s t (combined (rows p) ms (reached ts c))) ps)) as Hreach.
  { intros ms s t Hms H1 H2. pose proof (solution_reaches p ms c Hms Hs) as H.
    rewrite <- (sum_over_pieces p ps _ _ c Hp) in H.
    apply (rounding_only_refuses s) in H; [|assumption].
    apply (rounding_only_refuses t) in H; [|assumption].
    rewrite !map_map in H. exact H. }
  destruct (Hpairs c (proj1 Hs) Hb (Hreach f sf tf Hf Hsf Htf) (Hreach g sg tg Hg Hsg Htg)) as (d & Hw & Hd).
  pose proof (one_stands_for_all p excuse c d He Hw Hd) as H.
  apply orb_true_iff in H as [H|H]; [|assumption]. exfalso. exact (fails_no_solution p c H Hs).
Qed.

(** ** Halves *)

Section Halves.

(** A choice is a class on each axis. Pieces have a value for each choice, which depends on the axes
    along which the piece changes. *)
Definition choice := nat -> nat.
Variable piece : Type.
Variable value : piece -> choice -> Z.
Variable changes : piece -> nat -> Prop.
Hypothesis value_depends :
  forall i x y, (forall axis, changes i axis -> x axis = y axis) -> value i x = value i y.

(** Axes are fixed or belong to a part, and every part to a half. *)
Variable fixed : nat -> bool.
Variable part : nat -> nat.
Variable first_half : nat -> bool.
(** Axes along which one piece changes are in one part. *)
Variable part_of_piece : piece -> nat.
Hypothesis one_part : forall i axis, changes i axis -> fixed axis = false -> part axis = part_of_piece i.

Definition sum_over (ps : list piece) (x : choice) : Z := zsum (map (fun i => value i x) ps).
Definition half (which : bool) (ps : list piece) : list piece :=
  filter (fun i => Bool.eqb (first_half (part_of_piece i)) which) ps.

Definition agrees_on_half (which : bool) (x y : choice) : Prop :=
  forall axis, fixed axis = true \/ first_half (part axis) = which -> x axis = y axis.

Lemma half_depends which ps x y :
  agrees_on_half which x y -> sum_over (half which ps) x = sum_over (half which ps) y.
Proof.
  intros H. apply zsum_map_ext. intros i Hi. apply filter_In in Hi as [_ Hi].
  apply Bool.eqb_prop in Hi. apply value_depends. intros axis Hc. apply H.
  destruct (fixed axis) eqn:E; [now left|right]. now rewrite (one_part i axis Hc E).
Qed.

(** The decomposition: with the fixed axes chosen, the sum over all pieces at a choice is the entry of
    the first list for its part in the first half, plus the entry of the second list for its part in the
    second half. So no choice that reaches the bounds is missed by the pairs. *)
Theorem sums_are_pairs ps x y z :
  agrees_on_half true x y -> agrees_on_half false x z ->
  sum_over ps x = sum_over (half true ps) y + sum_over (half false ps) z.
Proof.
  intros Hy Hz. rewrite <- (half_depends true ps x y Hy), <- (half_depends false ps x z Hz).
  unfold sum_over, half. induction ps as [|i ps IH]; [reflexivity|]. simpl.
  destruct (first_half (part_of_piece i)); simpl; unfold zsum in *; simpl; lia.
Qed.

End Halves.

(** ** Meet *)

(** Two rows, and sums (f, g). *)
Definition no_worse (a b : Z * Z) : Prop := fst b <= fst a /\ snd b <= snd a.
Definition plus (a b : Z * Z) : Z * Z := (fst a + fst b, snd a + snd b).

(** A list stands for all sums of a half: a sum either cannot reach the bounds with the best of the
    other half, or the list has one that is no worse in both rows. *)
Definition stands_for (l : list (Z * Z)) (bounds best_of_other : Z * Z) (a : Z * Z) : Prop :=
  ~ no_worse (plus a best_of_other) bounds \/ exists e, In e l /\ no_worse e a.

(** If no pair of entries reaches both bounds, no pair of sums does. (The bounds are those left over
    when what the pieces without an axis add is taken off.) *)
Theorem meet_is_sound l1 l2 bounds best1 best2 a1 a2 :
  no_worse best1 a1 -> no_worse best2 a2 ->
  stands_for l1 bounds best2 a1 -> stands_for l2 bounds best1 a2 ->
  (forall e1 e2, In e1 l1 -> In e2 l2 -> ~ no_worse (plus e1 e2) bounds) ->
  ~ no_worse (plus a1 a2) bounds.
Proof.
  unfold stands_for, no_worse, plus. simpl. intros Hb1 Hb2 H1 H2 Hno Hr.
  destruct H1 as [H1|(e1 & Hi1 & H1)]; [apply H1; lia|].
  destruct H2 as [H2|(e2 & Hi2 & H2)]; [apply H2; lia|].
  apply (Hno e1 e2 Hi1 Hi2). lia.
Qed.

(** Why a problem with an unreliable excuse may be accepted: nothing but [by_leaves] ties two cells
    together. Here is an excuse that tells cells apart that go the same way through every tree. *)
Definition one_axis : problem :=
  {| axes := [2%nat]; sums := 1; trees := [Leaf [(0%nat, 1)]]; rows := [{| bound := 1; terms := [(0%nat, 1)] |}] |}.
Definition first_cell_only (c : cell) : bool := match c with [O] => true | _ => false end.

Theorem join_needs_by_leaves :
  solution one_axis [1%nat] /\ first_cell_only [1%nat] = false
  /\ ways (trees one_axis) [1%nat] = ways (trees one_axis) [0%nat]
  /\ fails one_axis [0%nat] || first_cell_only [0%nat] = true.
Proof.
  repeat split.
  - repeat constructor.
  - repeat constructor. unfold satisfies. now vm_compute.
Qed.
