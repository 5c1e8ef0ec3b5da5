(** Section 4: the checker as a function, and the proof that what it accepts is so. *)

From Coq Require Import ZArith List Bool Lia Arith Permutation.
From Secateur Require Import Numbers Problem Pieces Rules.
Import ListNotations.
Local Open Scope nat_scope.

Inductive step :=
| Lens (multipliers : list Z)
| Close (name : nat)
| Narrow (name axis low high : nat)
| SplitBox (axis cell : nat) (low_first : bool)
| Cells
| Assume.    (* not a step of a proof: here the caller vouches for the current box *)

Record state := {
  lenses : list lens;
  begun : bool;          (* a step other than a lens was there *)
  current : box;
  sides : list box;      (* the open sides, the one that was put there last first *)
  assumed : list box;    (* what the caller has vouched for *)
}.

Inductive outcome := Refused | Continue (st : state) | Proved (assumed : list box).

Definition start (p : problem) : state :=
  {| lenses := []; begun := false; current := whole p; sides := []; assumed := [] |}.

(** The current box is replaced by another, with these open sides. *)
Definition go_on (st : state) (b : box) (open : list box) : state :=
  {| lenses := lenses st; begun := true; current := b; sides := open; assumed := assumed st |}.

(** The current box is done. *)
Definition done (st : state) : outcome :=
  match sides st with
  | [] => Proved (assumed st)
  | b :: rest => Continue (go_on st b rest)
  end.

Section Kernel.

Variable p : problem.
Variable ps : list (list tree).       (* the trees of each piece *)
Variable excuse : cell -> bool.

Definition part_closed (l : lens) (b : box) (axis low high : nat) : bool :=
  if low <? high then closes l (set_range axis (low, high) b) else true.

Definition do_step (st : state) (s : step) : outcome :=
  match s with
  | Lens ms =>
      if negb (begun st) && (length ms =? length (rows p)) && forallb (fun m => 0 <=? m)%Z ms
      then Continue {| lenses := lenses st ++ [make_lens p ps ms]; begun := false;
                       current := current st; sides := sides st; assumed := assumed st |}
      else Refused
  | Close name =>
      match nth_error (lenses st) name with
      | None => Refused
      | Some l => if closes l (current st) then done st else Refused
      end
  | Narrow name axis low high =>
      match nth_error (lenses st) name, nth_error (current st) axis with
      | Some l, Some (from, to) =>
          if (from <=? low) && (low <? high) && (high <=? to) && negb ((low =? from) && (high =? to))
             && part_closed l (current st) axis from low && part_closed l (current st) axis high to
          then Continue (go_on st (set_range axis (low, high) (current st)) (sides st))
          else Refused
      | _, _ => Refused
      end
  | SplitBox axis cell low_first =>
      match nth_error (current st) axis with
      | None => Refused
      | Some (from, to) =>
          if (from <=? cell) && (S cell <? to) then
            let low := set_range axis (from, S cell) (current st) in
            let high := set_range axis (S cell, to) (current st) in
            Continue (if low_first then go_on st low (high :: sides st)
                      else go_on st high (low :: sides st))
          else Refused
      end
  | Cells =>
      if forallb (fun c => fails p c || excuse c) (cells_of (current st)) then done st else Refused
  | Assume =>
      done {| lenses := lenses st; begun := true; current := current st; sides := sides st;
              assumed := current st :: assumed st |}
  end.

(** All steps; the answer is the list of boxes that the caller vouches for. Nothing may follow when the
    problem is proved, and a proof that ends earlier is refused. *)
Fixpoint run (st : state) (steps : list step) : option (list box) :=
  match steps with
  | [] => None
  | s :: rest =>
      match do_step st s with
      | Refused => None
      | Continue st' => run st' rest
      | Proved boxes => match rest with [] => Some boxes | _ => None end
      end
  end.

(** ** Soundness *)

Hypothesis each_tree_once : Permutation (concat ps) (trees p).

(** Where a solution may still be. *)
Definition excepted (boxes : list box) (c : cell) : Prop :=
  excuse c = true \/ exists b, In b boxes /\ in_box b c.
Definition left_open (st : state) (c : cell) : Prop :=
  in_box (current st) c \/ exists b, In b (sides st) /\ in_box b c.

(** Lenses are what they are made to be. *)
Definition lenses_ok (st : state) : Prop :=
  forall l, In l (lenses st) -> exists ms, (forall m, In m ms -> (0 <= m)%Z) /\ l = make_lens p ps ms.

Lemma closes_sound st name l b c :
  lenses_ok st -> nth_error (lenses st) name = Some l -> closes l b = true ->
  in_box b c -> ~ solution p c.
Proof.
  intros Hok Hn. destruct (Hok l (nth_error_In _ _ Hn)) as (ms & Hms & ->).
  now apply closed_box_has_no_solution.
Qed.

(** What one step is good for: a solution that may be somewhere before it is excepted, or may be
    somewhere after it. *)
Definition sound_outcome (before : state) (o : outcome) : Prop :=
  match o with
  | Refused => True
  | Continue after =>
      lenses_ok after /\ (forall c, excepted (assumed before) c -> excepted (assumed after) c)
      /\ forall c, solution p c -> left_open before c -> left_open after c \/ excepted (assumed after) c
  | Proved boxes =>
      (forall c, excepted (assumed before) c -> excepted boxes c)
      /\ forall c, solution p c -> left_open before c -> excepted boxes c
  end.

(** A box is done: of its cells every solution is excepted. *)
Lemma done_sound st before :
  lenses_ok st -> sides st = sides before -> current st = current before ->
  (forall c, excepted (assumed before) c -> excepted (assumed st) c) ->
  (forall c, solution p c -> in_box (current before) c -> excepted (assumed st) c) ->
  sound_outcome before (done st).
Proof.
  intros Hok Hs Hc Hkeep Hdone. unfold done. destruct (sides st) as [|b rest] eqn:E; simpl.
  - split; [assumption|]. intros c Hsol [H|(b & Hin & _)]; [now apply Hdone|].
    rewrite <- Hs in Hin. destruct Hin.
  - repeat split; [exact Hok|assumption|]. intros c Hsol [H|(b' & Hin & Hb)].
    + right. now apply Hdone.
    + left. rewrite <- Hs in Hin. unfold left_open. simpl. destruct Hin as [->|Hin]; eauto.
Qed.

Lemma step_sound st s : lenses_ok st -> sound_outcome st (do_step st s).
Proof.
  intros Hok. destruct s as [multipliers|name|name axis low high|axis cut low_first| |]; simpl.
  - (* a lens *)
    destruct (_ && _ && _) eqn:E; [|exact I]. rewrite !andb_true_iff in E. destruct E as [_ E].
    rewrite forallb_forall in E. simpl. repeat split; [|auto|auto].
    intros l Hl. simpl in Hl. apply in_app_iff in Hl as [Hl|[<-|[]]]; [now apply Hok|].
    exists multipliers. split; [|reflexivity]. intros m Hm. now apply Z.leb_le, E.
  - (* close *)
    destruct (nth_error _ _) as [l|] eqn:El; [|exact I]. destruct (closes _ _) eqn:Ecl; [|exact I].
    apply done_sound; auto. intros c Hsol Hc. exfalso. eapply closes_sound; eauto.
  - (* narrow: the three parts make up the box *)
    destruct (nth_error (lenses st) name) as [l|] eqn:El; [|exact I].
    destruct (nth_error (current st) axis) as [(from, to)|] eqn:Ea; [|exact I].
    destruct (_ && _ && _ && _ && _ && _) eqn:E; [|exact I].
    rewrite !andb_true_iff in E. destruct E as [[_ Elow] Ehigh].
    simpl. repeat split; [exact Hok|auto|]. intros c Hsol [Hc|Hside]; [|left; right; exact Hside].
    left. left. simpl. pose proof (range_of _ _ _ _ Ea Hc) as Hr. unfold within in Hr. simpl in Hr.
    assert (forall a b, part_closed l (current st) axis a b = true -> ~ (a <= nth axis c 0 < b)) as Hpart.
    { intros a b Hcl Hab. unfold part_closed in Hcl. destruct (a <? b) eqn:Eab.
      - apply (closes_sound st name l _ c Hok El Hcl); [|assumption].
        now apply set_range_in with (from, to).
      - apply Nat.ltb_ge in Eab. lia. }
    apply set_range_in with (from, to); auto. unfold within. simpl.
    specialize (Hpart from low Elow) as H1. specialize (Hpart high to Ehigh) as H2. lia.
  - (* split: the two sides make up the box *)
    destruct (nth_error (current st) axis) as [(from, to)|] eqn:Ea; [|exact I].
    destruct (_ && _) eqn:E; [|exact I]. simpl.
    repeat split.
    + destruct low_first; exact Hok.
    + destruct low_first; auto.
    + intros c Hsol [Hc|(b & Hin & Hb)]; left.
      * pose proof (range_of _ _ _ _ Ea Hc) as Hr. unfold within in Hr. simpl in Hr.
        destruct (le_lt_dec (nth axis c 0) cut).
        -- assert (in_box (set_range axis (from, S cut) (current st)) c) as Hlow.
           { apply set_range_in with (from, to); auto. unfold within. simpl. lia. }
           destruct low_first; [left; exact Hlow|right; eexists; split; [left; reflexivity|exact Hlow]].
        -- assert (in_box (set_range axis (S cut, to) (current st)) c) as Hhigh.
           { apply set_range_in with (from, to); auto. unfold within. simpl. lia. }
           destruct low_first; [right; eexists; split; [left; reflexivity|exact Hhigh]|left; exact Hhigh].
      * right. exists b. destruct low_first; simpl; auto.
  - (* cells *)
    destruct (forallb _ _) eqn:E; [|exact I]. rewrite forallb_forall in E.
    apply done_sound; auto. intros c Hsol Hc. specialize (E c (cells_of_all _ _ Hc)).
    apply orb_true_iff in E as [E|E]; [exfalso; eapply fails_no_solution; eauto|now left].
  - (* assume *)
    apply done_sound; auto.
    + intros c [H|(b & ? & ?)]; [now left|]. right. exists b. simpl. auto.
    + intros c Hsol Hc. right. exists (current st). simpl. auto.
Qed.

Lemma run_sound steps st boxes :
  lenses_ok st -> run st steps = Some boxes ->
  (forall c, excepted (assumed st) c -> excepted boxes c)
  /\ forall c, solution p c -> left_open st c -> excepted boxes c.
Proof.
  revert st. induction steps as [|s rest IH]; simpl; intros st Hok Hrun; [easy|].
  pose proof (step_sound st s Hok) as Hs. destruct (do_step st s) as [|st'|boxes']; [easy| |].
  - destruct Hs as (Hok' & Hkeep & Hstep). destruct (IH st' Hok' Hrun) as (Hall & Hrest).
    split; [auto|]. intros c Hsol Hc. destruct (Hstep c Hsol Hc); auto.
  - destruct rest; [|easy]. injection Hrun as <-. exact Hs.
Qed.

End Kernel.

(** A whole proof: the stacks, then the steps. The answer is the list of boxes that were assumed. *)
Definition check (p : problem) (stacks : list (list nat)) (excuse : cell -> bool) (steps : list step)
  : option (list box) :=
  if problem_ok p && stacks_ok (length (trees p)) stacks
  then run p (pieces p stacks) excuse (start p) steps
  else None.

(** The main theorem: when a proof is accepted, every solution is excused or in an assumed box. *)
Theorem accepted_proofs_are_sound p stacks excuse steps boxes :
  check p stacks excuse steps = Some boxes ->
  forall c, solution p c -> excuse c = true \/ exists b, In b boxes /\ in_box b c.
Proof.
  unfold check. destruct (_ && _) eqn:E; [|easy]. apply andb_true_iff in E as [_ E].
  intros Hrun c Hsol.
  eapply run_sound; eauto.
  - now apply pieces_hold_each_tree_once.
  - intros l [].
  - left. exact (proj1 Hsol).
Qed.

(** A dump has no assumed boxes: then no cell is a solution, except excused ones. *)
Corollary no_solution_but_excused p stacks excuse steps :
  check p stacks excuse steps = Some [] ->
  forall c, solution p c -> excuse c = true.
Proof.
  intros H c Hsol. destruct (accepted_proofs_are_sound _ _ _ _ _ H c Hsol) as [|(b & [] & _)]; auto.
Qed.

