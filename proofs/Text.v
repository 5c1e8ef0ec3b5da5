(** Section 9: the text of a dump, read by the checker of Kernel.v. [join] and [meet] are not known here. *)

From Coq Require Import ZArith List Bool Arith String Ascii.
From Secateur Require Import Numbers Problem Pieces Rules Kernel.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.

(** ** Words and numbers *)

Fixpoint split_on (sep : ascii) (s : string) : list string :=
  match s with
  | EmptyString => [""]
  | String c rest =>
      match split_on sep rest with
      | word :: words => if Ascii.eqb c sep then "" :: word :: words else String c word :: words
      | [] => []
      end
  end.

Definition line_end : ascii := ascii_of_nat 10.

Definition is_comment (s : string) : bool := match s with String c _ => Ascii.eqb c "#" | _ => false end.

Definition lines_of (text : string) : list (list string) :=
  map (split_on " ") (filter (fun l => negb (is_comment l) && negb (l =? "")) (split_on line_end text)).

Fixpoint digits (before : Z) (s : string) : option Z :=
  match s with
  | EmptyString => Some before
  | String c rest =>
      let d := (Z.of_nat (nat_of_ascii c) - 48)%Z in
      if ((0 <=? d) && (d <=? 9))%Z then digits (10 * before + d) rest else None
  end.

Definition integer (s : string) : option Z :=
  match s with
  | EmptyString => None
  | String "-" EmptyString => None
  | String "-" rest => option_map Z.opp (digits 0 rest)
  | _ => digits 0 s
  end.

Definition natural (s : string) : option nat :=
  match integer s with Some z => if (0 <=? z)%Z then Some (Z.to_nat z) else None | None => None end.

Fixpoint every {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | x :: l => match f x, every f l with Some y, Some m => Some (y :: m) | _, _ => None end
  end.

Definition two {A B} (sep : ascii) (f : string -> option A) (g : string -> option B) (s : string)
  : option (A * B) :=
  match split_on sep s with
  | [a; b] => match f a, g b with Some x, Some y => Some (x, y) | _, _ => None end
  | _ => None
  end.

(** ** Trees with numbered nodes *)

Inductive node :=
| NodeLeaf (adds : added)
| NodeSplit (axis yes no : nat) (cells : list range).

(** The tree below a node. Splits stand before the nodes that they lead to, so as many levels as there
    are nodes suffice. *)
Fixpoint below (levels : nat) (nodes : list node) (at_ : nat) : option tree :=
  match levels, nth_error nodes at_ with
  | S levels, Some (NodeLeaf adds) => Some (Leaf adds)
  | S levels, Some (NodeSplit axis yes no cells) =>
      if (at_ <? yes)%nat && (at_ <? no)%nat then
        match below levels nodes yes, below levels nodes no with
        | Some a, Some b => Some (Split axis cells a b)
        | _, _ => None
        end
      else None
  | _, _ => None
  end.

(** Every node but the root has exactly one split above it: as many nodes are led to as there are but
    one, none of them twice. *)
Definition led_to (nodes : list node) : list nat :=
  flat_map (fun n => match n with NodeLeaf _ => [] | NodeSplit _ yes no _ => [yes; no] end) nodes.

Definition tree_of_nodes (nodes : list node) : option tree :=
  if distinct (led_to nodes) && (S (List.length (led_to nodes)) =? List.length nodes)%nat
  then below (List.length nodes) nodes 0 else None.

(** ** Problems *)

Record reading := {
  r_axes : option (list nat); r_sums : option nat;
  r_trees : list (list node);      (* the last one first, its nodes too *)
  r_rows : list row;               (* the last one first *)
  r_excused : list cell;
}.

Definition problem_line (r : reading) (words : list string) : option reading :=
  match words with
  | "axes" :: sizes =>
      match r_axes r, every natural sizes with
      | None, Some sizes => Some {| r_axes := Some sizes; r_sums := r_sums r; r_trees := r_trees r;
                                    r_rows := r_rows r; r_excused := r_excused r |}
      | _, _ => None
      end
  | ["sums"; count] =>
      match r_sums r, natural count with
      | None, Some count => Some {| r_axes := r_axes r; r_sums := Some count; r_trees := r_trees r;
                                    r_rows := r_rows r; r_excused := r_excused r |}
      | _, _ => None
      end
  | ["tree"] => Some {| r_axes := r_axes r; r_sums := r_sums r; r_trees := [] :: r_trees r;
                        r_rows := r_rows r; r_excused := r_excused r |}
  | "split" :: axis :: yes :: no :: cells =>
      match r_trees r, every natural [axis; yes; no], every (two "-" natural natural) cells with
      | nodes :: others, Some [axis; yes; no], Some cells =>
          Some {| r_axes := r_axes r; r_sums := r_sums r;
                  r_trees := (NodeSplit axis yes no cells :: nodes) :: others;
                  r_rows := r_rows r; r_excused := r_excused r |}
      | _, _, _ => None
      end
  | "leaf" :: adds =>
      match r_trees r, every (two ":" natural integer) adds with
      | nodes :: others, Some adds =>
          Some {| r_axes := r_axes r; r_sums := r_sums r; r_trees := (NodeLeaf adds :: nodes) :: others;
                  r_rows := r_rows r; r_excused := r_excused r |}
      | _, _ => None
      end
  | "row" :: b :: ts =>
      match integer b, every (two ":" natural integer) ts with
      | Some b, Some ts =>
          Some {| r_axes := r_axes r; r_sums := r_sums r; r_trees := r_trees r;
                  r_rows := {| bound := b; terms := ts |} :: r_rows r; r_excused := r_excused r |}
      | _, _ => None
      end
  | "excused" :: c =>
      match every natural c with
      | Some c => Some {| r_axes := r_axes r; r_sums := r_sums r; r_trees := r_trees r;
                          r_rows := r_rows r; r_excused := c :: r_excused r |}
      | None => None
      end
  | _ => None
  end.

Definition all_lines {A} (f : A -> list string -> option A) (lines : list (list string)) (start : A) : option A :=
  fold_left (fun a l => match a with Some a => f a l | None => None end) lines (Some start).

(** A problem and its excused cells. *)
Definition read_problem (text : string) : option (problem * list cell) :=
  match lines_of text with
  | ["secateur"; "problem"; "1"] :: lines =>
      match all_lines problem_line lines
              {| r_axes := None; r_sums := None; r_trees := []; r_rows := []; r_excused := [] |} with
      | Some {| r_axes := Some axes; r_sums := Some sums; r_trees := trees; r_rows := rows; r_excused := excused |} =>
          match every (fun nodes => tree_of_nodes (rev nodes)) (rev trees) with
          | Some trees => Some ({| axes := axes; sums := sums; trees := trees; rows := rev rows |}, excused)
          | None => None
          end
      | _ => None
      end
  | _ => None
  end.

(** ** Proofs *)

Definition step_of (words : list string) : option step :=
  match words with
  | "lens" :: ms => option_map Lens (every integer ms)
  | ["close"; l] => option_map Close (natural l)
  | ["narrow"; l; a; low; high] =>
      match every natural [l; a; low; high] with Some [l; a; low; high] => Some (Narrow l a low high) | _ => None end
  | ["split"; a; c; "low"] =>
      match every natural [a; c] with Some [a; c] => Some (SplitBox a c true) | _ => None end
  | ["split"; a; c; "high"] =>
      match every natural [a; c] with Some [a; c] => Some (SplitBox a c false) | _ => None end
  | ["cells"] => Some Cells
  | _ => None
  end.

(** The stacks, then the steps, then the line [end] and nothing after it. *)
Fixpoint read_steps (lines : list (list string)) : option (list step) :=
  match lines with
  | [["end"]] => Some []
  | l :: rest => match step_of l, read_steps rest with Some s, Some m => Some (s :: m) | _, _ => None end
  | [] => None
  end.

Fixpoint read_stacks (lines : list (list string)) : option (list (list nat) * list step) :=
  match lines with
  | ("stack" :: ts) :: rest =>
      match every natural ts, read_stacks rest with
      | Some ts, Some (stacks, steps) => Some (ts :: stacks, steps)
      | _, _ => None
      end
  | _ => match read_steps lines with Some steps => Some ([], steps) | None => None end
  end.

Definition read_proof (text : string) : option (list (list nat) * list step) :=
  match lines_of text with ["secateur"; "proof"; "1"] :: lines => read_stacks lines | _ => None end.

Definition same_cell (a b : cell) : bool := if list_eq_dec Nat.eq_dec a b then true else false.

(** Checks a dump: its problem and its proof. *)
Definition check_dump (problem proof : string) : bool :=
  match read_problem problem, read_proof proof with
  | Some (p, excused), Some (stacks, steps) =>
      match check p stacks (fun c => existsb (same_cell c) excused) steps with Some [] => true | _ => false end
  | _, _ => false
  end.

(** What an accepted dump shows of the problem that was read: a solution is one of the excused cells. *)
Theorem accepted_dumps_are_sound problem proof :
  check_dump problem proof = true ->
  exists p excused, read_problem problem = Some (p, excused) /\ forall c, solution p c -> In c excused.
Proof.
  unfold check_dump. destruct (read_problem problem) as [[p excused]|]; [|discriminate].
  destruct (read_proof proof) as [[stacks steps]|]; [|discriminate].
  destruct (check p stacks _ steps) as [[|]|] eqn:E; try discriminate. intros _.
  exists p, excused. split; [reflexivity|]. intros c Hc.
  pose proof (no_solution_but_excused _ _ _ _ E c Hc) as Hin. apply existsb_exists in Hin as (c' & Hin & Heq).
  unfold same_cell in Heq. destruct (list_eq_dec Nat.eq_dec c c') as [->|]; [exact Hin|discriminate].
Qed.
