(** Section 1 of docs/spec/kernel.md: axes, cells, boxes, trees, rows and solutions.

    Cells are numbers from 0 on; a range (low, high) leaves high out. *)

From Coq Require Import ZArith List Bool Lia Arith.
From Secateur Require Import Numbers.
Import ListNotations.
Local Open Scope Z_scope.

(** A cell of the grid chooses one cell on every axis. *)
Definition cell := list nat.
Definition range := (nat * nat)%type.
Definition box := list range.

Definition within (r : range) (x : nat) : Prop := (fst r <= x < snd r)%nat.
Definition withinb (r : range) (x : nat) : bool := (fst r <=? x)%nat && (x <? snd r)%nat.

Lemma withinb_iff r x : withinb r x = true <-> within r x.
Proof.
  unfold withinb, within. rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt. reflexivity.
Qed.

Definition in_box (b : box) (c : cell) : Prop := Forall2 within b c.

(** What a leaf adds: pairs of a sum and a number. The same sum may come twice: both count. *)
Definition added := list (nat * Z).

(** A tree, as it is below one of its nodes. The cells of a split are a list of ranges of its axis.
    (File Text.v has the form with numbered nodes.) *)
Inductive tree :=
| Leaf (adds : added)
| Split (axis : nat) (cells : list range) (yes no : tree).

Definition goes_yes (cells : list range) (x : nat) : bool := existsb (fun r => withinb r x) cells.

(** What the leaf adds that a cell reaches, and the way to it. Two cells reach the same leaf of a tree
    if they have the same way. *)
Fixpoint reach (t : tree) (c : cell) : added :=
  match t with
  | Leaf adds => adds
  | Split axis cells yes no => if goes_yes cells (nth axis c 0%nat) then reach yes c else reach no c
  end.

Fixpoint way (t : tree) (c : cell) : list bool :=
  match t with
  | Leaf _ => []
  | Split axis cells yes no =>
      if goes_yes cells (nth axis c 0%nat) then true :: way yes c else false :: way no c
  end.

Record row := { bound : Z; terms : list (nat * Z) }.

Record problem := {
  axes : list nat;     (* the number of cells of each axis *)
  sums : nat;          (* the number of sums *)
  trees : list tree;
  rows : list row;
}.

(** The whole grid, as a box. *)
Definition whole (p : problem) : box := map (fun size => (0%nat, size)) (axes p).

(** What is added to one sum, a row's combination of the sums, and what all trees add in a cell. *)
Definition sum_of (s : nat) (a : added) : Z :=
  zsum (map snd (filter (fun e => (fst e =? s)%nat) a)).
Definition row_value (r : row) (a : added) : Z :=
  zsum (map (fun t => snd t * sum_of (fst t) a) (terms r)).
Definition total (p : problem) (c : cell) : added := concat (map (fun t => reach t c) (trees p)).

Definition satisfies (r : row) (a : added) : Prop := bound r <= row_value r a.
Definition satisfiesb (r : row) (a : added) : bool := bound r <=? row_value r a.

Definition solution (p : problem) (c : cell) : Prop :=
  in_box (whole p) c /\ Forall (fun r => satisfies r (total p c)) (rows p).

(** What makes a problem one: every axis has a cell, and splits, leaves and rows name axes, cells and
    sums that there are. The theorems hold without this; the checker demands it as the page does. *)
Fixpoint tree_ok (sizes : list nat) (sums : nat) (t : tree) : bool :=
  match t with
  | Leaf adds => forallb (fun e => (fst e <? sums)%nat) adds
  | Split axis cells yes no =>
      match nth_error sizes axis with
      | None => false
      | Some size => forallb (fun r => (fst r <? snd r)%nat && (snd r <=? size)%nat) cells
                     && tree_ok sizes sums yes && tree_ok sizes sums no
      end
  end.
Definition problem_ok (p : problem) : bool :=
  forallb (fun size => (0 <? size)%nat) (axes p)
  && forallb (tree_ok (axes p) (sums p)) (trees p)
  && forallb (fun r => forallb (fun t => (fst t <? sums p)%nat) (terms r)) (rows p).

(** Rows are additive: this is why any division of the trees into pieces is sound. *)
Lemma sum_of_app s a b : sum_of s (a ++ b) = sum_of s a + sum_of s b.
Proof. unfold sum_of. now rewrite filter_app, map_app, zsum_app. Qed.

Lemma row_value_app r a b : row_value r (a ++ b) = row_value r a + row_value r b.
Proof.
  unfold row_value. rewrite <- zsum_map_add. apply zsum_map_ext. intros. rewrite sum_of_app. lia.
Qed.

Lemma row_value_nil r : row_value r [] = 0.
Proof.
  unfold row_value. induction (terms r); [reflexivity|]. simpl in *. rewrite IHl. unfold sum_of. simpl. lia.
Qed.

Lemma satisfiesb_iff r a : satisfiesb r a = true <-> satisfies r a.
Proof. apply Z.leb_le. Qed.
