#!/bin/sh
# Writes Examples.v: the dumps of this folder as they are, each of which the checker has to accept, and
# with one thing changed in each, which it has to refuse.
set -eu
cd "$(dirname "$0")"
echo 'From Coq Require Import String. From Secateur Require Import Text. Open Scope string_scope.'
judged() {    # name, expected answer; the proof is read from standard input, the problem is $problem
    echo "Definition $1_problem := \"$problem\"."
    echo "Definition $1_proof := \"$(cat)\"."
    echo "Example $1 : check_dump $1_problem $1_proof = $2. Proof. vm_compute. reflexivity. Qed."
}
refused() {    # a change of the proof, which has to change something
    changed=$(sed "$2" "$proof")
    if [ "$changed" != "$(cat "$proof")" ]; then echo "$changed" | judged "${name}_$1" false; fi
}
for file in dumps/*.problem; do
    name=$(basename "$file" .problem)
    proof=dumps/$name.proof
    problem=$(cat "$file")
    judged "$name" true <"$proof"
    # The last step is missing; a step too many; no end.
    tac "$proof" | sed 2d | tac | judged "${name}_short" false
    sed 's/^end$/cells\nend/' "$proof" | judged "${name}_long" false
    sed '/^end$/d' "$proof" | judged "${name}_without_end" false
    # A negative multiplier, and lenses that do not exist, where the proof has some.
    refused negative 's/^lens 1/lens -1/'
    refused lens 's/^close [0-9]*/close 7/; s/^narrow [0-9]*/narrow 7/'
    # Every cell satisfies every row.
    problem=$(sed 's/^row [^ ]*/row -99999999999999999999/' "$file")
    judged "${name}_true_rows" false <"$proof"
done
