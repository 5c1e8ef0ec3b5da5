(** Sums of whole numbers, and rounding up by a power of two. *)

From Coq Require Import ZArith List Lia Permutation.
Import ListNotations.
Local Open Scope Z_scope.

Definition zsum (l : list Z) : Z := fold_right Z.add 0 l.

Lemma zsum_app l m : zsum (l ++ m) = zsum l + zsum m.
Proof. induction l; simpl; lia. Qed.

Lemma zsum_permutation l m : Permutation l m -> zsum l = zsum m.
Proof. induction 1; simpl; lia. Qed.

Lemma zsum_concat (ls : list (list Z)) : zsum (concat ls) = zsum (map zsum ls).
Proof. induction ls; simpl; rewrite ?zsum_app; lia. Qed.

Lemma zsum_map_add {A} (f g : A -> Z) l :
  zsum (map (fun x => f x + g x) l) = zsum (map f l) + zsum (map g l).
Proof. induction l; simpl; lia. Qed.

Lemma zsum_map_mul {A} (f : A -> Z) k l :
  zsum (map (fun x => k * f x) l) = k * zsum (map f l).
Proof. induction l; simpl; lia. Qed.

Lemma zsum_map_le {A} (f g : A -> Z) l :
  (forall x, In x l -> f x <= g x) -> zsum (map f l) <= zsum (map g l).
Proof.
  induction l; simpl; intros H; [lia|].
  pose proof (H a (or_introl eq_refl)). specialize (IHl (fun x i => H x (or_intror i))). lia.
Qed.

Lemma zsum_map_ext {A} (f g : A -> Z) l :
  (forall x, In x l -> f x = g x) -> zsum (map f l) = zsum (map g l).
Proof. intros H. f_equal. now apply map_ext_in. Qed.

Lemma zsum_nonneg l : (forall x, In x l -> 0 <= x) -> 0 <= zsum l.
Proof.
  induction l; simpl; intros H; [lia|].
  pose proof (H a (or_introl eq_refl)). specialize (IHl (fun x i => H x (or_intror i))). lia.
Qed.

(** [up s v] is [v / 2^s], rounded up. (Coq's division rounds down.) *)
Definition up (s v : Z) : Z := - ((- v) / 2 ^ s).

Lemma up_above s v : 0 <= s -> v <= 2 ^ s * up s v.
Proof.
  intros. unfold up. pose proof (Z.pow_pos_nonneg 2 s ltac:(lia) H).
  pose proof (Z.mul_div_le (- v) (2 ^ s) H0). lia.
Qed.

Lemma up_next s b : 0 <= s -> 2 ^ s * (up s b - 1) < b.
Proof.
  intros. unfold up. pose proof (Z.pow_pos_nonneg 2 s ltac:(lia) H).
  pose proof (Z.mul_succ_div_gt (- b) (2 ^ s) H0). lia.
Qed.

Lemma up_monotone s v w : 0 <= s -> v <= w -> up s v <= up s w.
Proof.
  intros. unfold up. pose proof (Z.pow_pos_nonneg 2 s ltac:(lia) H).
  pose proof (Z.div_le_mono (- w) (- v) (2 ^ s) H1 ltac:(lia)). lia.
Qed.

(** Rounding can only refuse, for every s: numbers whose sum reaches a bound still reach it when all
    of them and the bound are rounded up. So if the rounded sum is below the rounded bound, then the
    exact sum is below the exact bound. *)
Theorem rounding_only_refuses s b values :
  0 <= s -> b <= zsum values -> up s b <= zsum (map (up s) values).
Proof.
  intros Hs Hb.
  assert (zsum values <= 2 ^ s * zsum (map (up s) values)) as Hsum.
  { rewrite <- zsum_map_mul, <- (map_id values) at 1.
    apply zsum_map_le. intros. now apply up_above. }
  pose proof (up_next s b Hs). pose proof (Z.pow_pos_nonneg 2 s ltac:(lia) Hs).
  nia.
Qed.

(** The number of binary digits; 0 has none. *)
Definition bits (n : Z) : Z := if n =? 0 then 0 else Z.log2 (Z.abs n) + 1.

(** The largest of a list of numbers, if it has any. *)
Fixpoint largest (l : list Z) : option Z :=
  match l with
  | [] => None
  | x :: rest => match largest rest with None => Some x | Some y => Some (Z.max x y) end
  end.

Lemma largest_above l x : In x l -> exists y, largest l = Some y /\ x <= y.
Proof.
  induction l as [|a l IH]; [easy|]. simpl. intros [->|H].
  - destruct (largest l); eexists; split; eauto; lia.
  - destruct (IH H) as (y & -> & ?). eexists; split; eauto; lia.
Qed.

Lemma largest_in l y : largest l = Some y -> In y l.
Proof.
  revert y. induction l as [|a l IH]; [easy|]. simpl. intros y.
  destruct (largest l) eqn:E; intros [= <-].
  - destruct (Z.max_spec a z) as [[_ ->]|[_ ->]]; auto.
  - auto.
Qed.
