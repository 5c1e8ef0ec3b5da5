(** The theorems, and what they assume: nothing but the definitions. The build fails otherwise. *)

From Secateur Require Import Numbers Problem Pieces Rules Kernel Text Bounds Join.

Print Assumptions rounding_only_refuses.
Print Assumptions joint_leaves_are_the_intersections.
Print Assumptions pieces_cover.
Print Assumptions pieces_hold_each_tree_once.
Print Assumptions closed_box_has_no_solution.
Print Assumptions accepted_proofs_are_sound.
Print Assumptions no_solution_but_excused.
Print Assumptions accepted_dumps_are_sound.
Print Assumptions same_classes_same_joint_leaf.
Print Assumptions join_is_sound.
Print Assumptions sums_are_pairs.
Print Assumptions meet_is_sound.
Print Assumptions join_needs_by_leaves.
Print Assumptions cut_is_sound.
Print Assumptions cover_is_sound.
Print Assumptions crossings_are_sound.
