;; The code of every model that is written as WebAssembly: it is the same for all of them, and the data says what a model is.
;; `template.wasm`, beside this file, is this text as bytes (without the names of functions and variables), and a test shows that.
;;
;; The data starts at address 0 with a header. Whole numbers have 32 bits:
;;
;;    0 parts of the model, a bit each:
;;        1 f32_input   2 f32_sums   4 quantised   8 chunks   16 window   32 each   64 every   128 listed   256 last
;;        512 average_raw   1024 average_class   2048 class   4096 threshold   8192 strict
;;        16384 softmax32   32768 softmax64   65536 sigmoid
;;    4 features   8 outputs   12 used   16 number_bins   20 sets   24 equals   28 bins   32 trees   36 group
;;   40 bytes of each number of node_bin and node_left: 1, 2 or 4
;;   44 bytes of each number of leaf_index, or of leaf where leaves are quantised: 1, 2 or 4
;;   48 where the row is   52 where the scores are   56 where the bins are   60 the end of all of these
;; doubles:
;;   64 window   72 divisor   80 threshold, or the limit where leaves are quantised   88 scale   96 unit
;; tables, each the place where it starts and the count of its numbers (which this code does not need):
;;   104 used_feature   112 first_threshold   120 threshold   128 first_bin   136 bin_sides   144 bin_start
;;   152 set_feature   160 set_flags   168 first_code   176 code   184 first_listed   192 listed
;;   200 equal_feature   208 equal_sides   216 equal_value
;;   224 inner   232 node_bin   240 node_rank   248 node_left   256 tree_output   264 factor
;;   272 leaf_index   280 leaf   288 intercept
;;
;; What the tables mean is in `template.c` and docs/spec/source-v1.md. Rows and scores are doubles here, whatever the model's types: a value is rounded to
;; the type of inputs when it is read, and sums are rounded to their type after every addition.
(module
  (memory (export "memory") 1)

  ;; How many numbers a row has, and where they go.
  (func (export "features") (result i32) (i32.load offset=4 (i32.const 0)))
  (func (export "row") (result i32) (i32.load offset=48 (i32.const 0)))
  ;; How many scores there are, and where they are.
  (func (export "outputs") (result i32) (i32.load offset=8 (i32.const 0)))
  (func (export "scores") (result i32) (i32.load offset=52 (i32.const 0)))

  (func $has (param $part i32) (result i32)
    (i32.ne (i32.and (i32.load (i32.const 0)) (local.get $part)) (i32.const 0)))

  ;; A number of a table of 32 bits.
  (func $word (param $table i32) (param $at i32) (result i32)
    (i32.load (i32.add (local.get $table) (i32.shl (local.get $at) (i32.const 2)))))

  ;; A number of a table of 1, 2 or 4 bytes.
  (func $whole (param $table i32) (param $at i32) (param $bytes i32) (result i32)
    (if (i32.eq (local.get $bytes) (i32.const 1))
      (then (return (i32.load8_u (i32.add (local.get $table) (local.get $at))))))
    (if (i32.eq (local.get $bytes) (i32.const 2))
      (then (return (i32.load16_u (i32.add (local.get $table) (i32.shl (local.get $at) (i32.const 1)))))))
    (call $word (local.get $table) (local.get $at)))

  ;; A number of a table of floats, or of doubles.
  (func $number (param $table i32) (param $at i32) (param $float i32) (result f64)
    (if (result f64) (local.get $float)
      (then (f64.promote_f32 (f32.load (i32.add (local.get $table) (i32.shl (local.get $at) (i32.const 2))))))
      (else (f64.load (i32.add (local.get $table) (i32.shl (local.get $at) (i32.const 3)))))))

  ;; The value of a column as the model reads it.
  (func $value (param $column i32) (result f64)
    (local $value f64)
    (local.set $value
      (f64.load (i32.add (i32.load offset=48 (i32.const 0)) (i32.shl (local.get $column) (i32.const 3)))))
    (if (call $has (i32.const 1))
      (then (local.set $value (f64.promote_f32 (f32.demote_f64 (local.get $value))))))
    (if (call $has (i32.const 16))
      (then
        (if (f64.le (f64.abs (local.get $value)) (f64.load offset=64 (i32.const 0)))
          (then (local.set $value (f64.const 0))))))
    (local.get $value))

  ;; The bins of columns that are compared with thresholds.
  (func $rank
    (local $used i32) (local $value f64) (local $float i32)
    (local $start i32) (local $end i32) (local $low i32) (local $high i32) (local $middle i32)
    (local $bin i32) (local $end_bin i32) (local $sides i32) (local $rank i32) (local $from i32)
    (local.set $float (call $has (i32.const 1)))
    (block $done
      (loop $columns
        (br_if $done (i32.ge_u (local.get $used) (i32.load offset=12 (i32.const 0))))
        (local.set $value (call $value (call $word (i32.load offset=104 (i32.const 0)) (local.get $used))))
        (local.set $start (call $word (i32.load offset=112 (i32.const 0)) (local.get $used)))
        (local.set $end
          (call $word (i32.load offset=112 (i32.const 0)) (i32.add (local.get $used) (i32.const 1))))
        (local.set $low (local.get $start))
        (local.set $high (local.get $end))
        (block $found
          (loop $search
            (br_if $found (i32.ge_u (local.get $low) (local.get $high)))
            (local.set $middle
              (i32.add (local.get $low)
                (i32.shr_u (i32.sub (local.get $high) (local.get $low)) (i32.const 1))))
            (if (f64.le (local.get $value)
                  (call $number (i32.load offset=120 (i32.const 0)) (local.get $middle) (local.get $float)))
              (then (local.set $high (local.get $middle)))
              (else (local.set $low (i32.add (local.get $middle) (i32.const 1)))))
            (br $search)))
        (local.set $bin (call $word (i32.load offset=128 (i32.const 0)) (local.get $used)))
        (local.set $end_bin
          (call $word (i32.load offset=128 (i32.const 0)) (i32.add (local.get $used) (i32.const 1))))
        (block $filled
          (loop $bins
            (br_if $filled (i32.ge_u (local.get $bin) (local.get $end_bin)))
            (local.set $sides (call $word (i32.load offset=136 (i32.const 0)) (local.get $bin)))
            (local.set $rank (i32.sub (local.get $low) (local.get $start)))
            (if (i32.and (f64.ne (local.get $value) (local.get $value)) (local.get $sides))
              (then (local.set $rank (i32.const 0))))
            (if (i32.and (f64.eq (local.get $value) (f64.const 0)) (i32.shr_u (local.get $sides) (i32.const 1)))
              (then
                (local.set $rank
                  (select (i32.const 0) (i32.sub (local.get $end) (local.get $start))
                    (i32.and (local.get $sides) (i32.const 4))))))
            (if (call $has (i32.const 8))
              (then
                (local.set $from (call $word (i32.load offset=144 (i32.const 0)) (local.get $bin)))
                (local.set $rank
                  (select (i32.sub (local.get $rank) (local.get $from)) (i32.const 0)
                    (i32.gt_u (local.get $rank) (local.get $from))))
                (local.set $rank
                  (select (i32.const 255) (local.get $rank) (i32.gt_u (local.get $rank) (i32.const 255))))))
            (i32.store8 (i32.add (i32.load offset=56 (i32.const 0)) (local.get $bin)) (local.get $rank))
            (local.set $bin (i32.add (local.get $bin) (i32.const 1)))
            (br $bins)))
        (local.set $used (i32.add (local.get $used) (i32.const 1)))
        (br $columns))))

  ;; Does a value go right of a set? 1 if so.
  (func $right_of_set (param $set i32) (param $value f64) (result i32)
    (local $flags i32) (local $known i32) (local $code i32)
    (local $low i32) (local $high i32) (local $end i32) (local $middle i32)
    (local.set $flags (call $word (i32.load offset=160 (i32.const 0)) (local.get $set)))
    (block $read
      (block $listed
        (block $whole
          (block $cut
            (block $cut_not_negative
              (br_table $cut_not_negative $cut $whole $listed (i32.shr_u (local.get $flags) (i32.const 3))))
            ;; 0: cut off, not negative.
            (if (i32.and (f64.ge (local.get $value) (f64.const 0))
                  (f64.lt (local.get $value) (f64.const 16777216)))
              (then
                (local.set $known (i32.const 1))
                (local.set $code (i32.trunc_f64_u (local.get $value)))))
            (br $read))
          ;; 1: cut off.
          (if (i32.and (f64.gt (local.get $value) (f64.const -1))
                (f64.lt (local.get $value) (f64.const 2147483648)))
            (then
              (local.set $known (i32.const 1))
              (local.set $code (i32.trunc_f64_u (local.get $value)))))
          (br $read))
        ;; 2: whole numbers.
        (if (i32.and (f64.ge (local.get $value) (f64.const 0))
              (f64.lt (local.get $value) (f64.const 16777216)))
          (then
            (local.set $code (i32.trunc_f64_u (local.get $value)))
            (local.set $known (f64.eq (f64.convert_i32_u (local.get $code)) (local.get $value)))))
        (br $read))
      ;; 3: by a list.
      (local.set $low (call $word (i32.load offset=184 (i32.const 0)) (local.get $set)))
      (local.set $high
        (call $word (i32.load offset=184 (i32.const 0)) (i32.add (local.get $set) (i32.const 1))))
      (loop $search
        (br_if $read (i32.ge_u (local.get $low) (local.get $high)))
        (local.set $known
          (f64.eq (local.get $value)
            (call $number (i32.load offset=192 (i32.const 0)) (local.get $low) (call $has (i32.const 1)))))
        (br_if $read (local.get $known))
        (local.set $code (i32.add (local.get $code) (i32.const 1)))
        (local.set $low (i32.add (local.get $low) (i32.const 1)))
        (br $search)))
    ;; What is missing, or no category where that means missing.
    (if (i32.or (f64.ne (local.get $value) (local.get $value))
          (i32.and (i32.eqz (local.get $known)) (i32.shr_u (local.get $flags) (i32.const 2))))
      (then (return (i32.eqz (i32.and (local.get $flags) (i32.const 1))))))
    (local.set $low (call $word (i32.load offset=168 (i32.const 0)) (local.get $set)))
    (local.set $end
      (call $word (i32.load offset=168 (i32.const 0)) (i32.add (local.get $set) (i32.const 1))))
    (local.set $high (local.get $end))
    (block $found
      (loop $search
        (br_if $found (i32.ge_u (local.get $low) (local.get $high)))
        (local.set $middle
          (i32.add (local.get $low) (i32.shr_u (i32.sub (local.get $high) (local.get $low)) (i32.const 1))))
        (if (i32.lt_u (call $word (i32.load offset=176 (i32.const 0)) (local.get $middle)) (local.get $code))
          (then (local.set $low (i32.add (local.get $middle) (i32.const 1))))
          (else (local.set $high (local.get $middle))))
        (br $search)))
    (if (i32.ge_u (local.get $low) (local.get $end))
      (then (local.set $known (i32.const 0)))
      (else
        (local.set $known
          (i32.and (local.get $known)
            (i32.eq (call $word (i32.load offset=176 (i32.const 0)) (local.get $low)) (local.get $code))))))
    ;; A member goes left iff members do.
    (i32.ne (local.get $known) (i32.and (i32.shr_u (local.get $flags) (i32.const 1)) (i32.const 1))))

  ;; The bins of tests whether a category is in a set, and whether a value equals a number.
  (func $test
    (local $at i32) (local $bins i32) (local $value f64) (local $left i32)
    (local.set $bins (i32.add (i32.load offset=56 (i32.const 0)) (i32.load offset=16 (i32.const 0))))
    (block $done
      (loop $sets
        (br_if $done (i32.ge_u (local.get $at) (i32.load offset=20 (i32.const 0))))
        (i32.store8 (i32.add (local.get $bins) (local.get $at))
          (call $right_of_set (local.get $at)
            (call $value (call $word (i32.load offset=152 (i32.const 0)) (local.get $at)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $sets)))
    (local.set $bins (i32.add (local.get $bins) (i32.load offset=20 (i32.const 0))))
    (local.set $at (i32.const 0))
    (block $done
      (loop $equals
        (br_if $done (i32.ge_u (local.get $at) (i32.load offset=24 (i32.const 0))))
        (local.set $value (call $value (call $word (i32.load offset=200 (i32.const 0)) (local.get $at))))
        (local.set $left
          (if (result i32) (f64.ne (local.get $value) (local.get $value))
            (then (call $word (i32.load offset=208 (i32.const 0)) (local.get $at)))
            (else
              (f64.eq (local.get $value)
                (call $number (i32.load offset=216 (i32.const 0)) (local.get $at) (call $has (i32.const 1)))))))
        (i32.store8 (i32.add (local.get $bins) (local.get $at)) (i32.eqz (local.get $left)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $equals))))

  ;; The leaf of a tree that a row reaches, counted from the tree's first: by nodes of numbers of 1 byte, of 2 and of 4.
  (func $walk1 (param $node i32) (param $inner i32) (result i32)
    (local $leaf i32) (local $left i32) (local $bin i32) (local $ranks i32) (local $lefts i32) (local $bins i32)
    (local.set $bin (i32.load offset=232 (i32.const 0)))
    (local.set $ranks (i32.load offset=240 (i32.const 0)))
    (local.set $lefts (i32.load offset=248 (i32.const 0)))
    (local.set $bins (i32.load offset=56 (i32.const 0)))
    (block $done
      (loop $down
        (br_if $done (i32.eqz (local.get $inner)))
        (local.set $left (i32.load8_u (i32.add (local.get $lefts) (local.get $node))))
        (if (i32.gt_u
              (i32.load8_u
                (i32.add (local.get $bins) (i32.load8_u (i32.add (local.get $bin) (local.get $node)))))
              (i32.load8_u (i32.add (local.get $ranks) (local.get $node))))
          (then
            (local.set $node (i32.add (local.get $node) (local.get $left)))
            (local.set $left (i32.add (local.get $left) (i32.const 1)))
            (local.set $leaf (i32.add (local.get $leaf) (local.get $left)))
            (local.set $inner (i32.sub (local.get $inner) (local.get $left))))
          (else (local.set $inner (local.get $left))))
        (local.set $node (i32.add (local.get $node) (i32.const 1)))
        (br $down)))
    (local.get $leaf))

  (func $walk2 (param $node i32) (param $inner i32) (result i32)
    (local $leaf i32) (local $left i32) (local $bin i32) (local $ranks i32) (local $lefts i32) (local $bins i32)
    (local.set $bin (i32.load offset=232 (i32.const 0)))
    (local.set $ranks (i32.load offset=240 (i32.const 0)))
    (local.set $lefts (i32.load offset=248 (i32.const 0)))
    (local.set $bins (i32.load offset=56 (i32.const 0)))
    (block $done
      (loop $down
        (br_if $done (i32.eqz (local.get $inner)))
        (local.set $left
          (i32.load16_u (i32.add (local.get $lefts) (i32.shl (local.get $node) (i32.const 1)))))
        (if (i32.gt_u
              (i32.load8_u
                (i32.add (local.get $bins)
                  (i32.load16_u (i32.add (local.get $bin) (i32.shl (local.get $node) (i32.const 1))))))
              (i32.load8_u (i32.add (local.get $ranks) (local.get $node))))
          (then
            (local.set $node (i32.add (local.get $node) (local.get $left)))
            (local.set $left (i32.add (local.get $left) (i32.const 1)))
            (local.set $leaf (i32.add (local.get $leaf) (local.get $left)))
            (local.set $inner (i32.sub (local.get $inner) (local.get $left))))
          (else (local.set $inner (local.get $left))))
        (local.set $node (i32.add (local.get $node) (i32.const 1)))
        (br $down)))
    (local.get $leaf))

  (func $walk4 (param $node i32) (param $inner i32) (result i32)
    (local $leaf i32) (local $left i32) (local $bin i32) (local $ranks i32) (local $lefts i32) (local $bins i32)
    (local.set $bin (i32.load offset=232 (i32.const 0)))
    (local.set $ranks (i32.load offset=240 (i32.const 0)))
    (local.set $lefts (i32.load offset=248 (i32.const 0)))
    (local.set $bins (i32.load offset=56 (i32.const 0)))
    (block $done
      (loop $down
        (br_if $done (i32.eqz (local.get $inner)))
        (local.set $left (i32.load (i32.add (local.get $lefts) (i32.shl (local.get $node) (i32.const 2)))))
        (if (i32.gt_u
              (i32.load8_u
                (i32.add (local.get $bins)
                  (i32.load (i32.add (local.get $bin) (i32.shl (local.get $node) (i32.const 2))))))
              (i32.load8_u (i32.add (local.get $ranks) (local.get $node))))
          (then
            (local.set $node (i32.add (local.get $node) (local.get $left)))
            (local.set $left (i32.add (local.get $left) (i32.const 1)))
            (local.set $leaf (i32.add (local.get $leaf) (local.get $left)))
            (local.set $inner (i32.sub (local.get $inner) (local.get $left))))
          (else (local.set $inner (local.get $left))))
        (local.set $node (i32.add (local.get $node) (i32.const 1)))
        (br $down)))
    (local.get $leaf))

  ;; What a leaf adds.
  (func $leaf (param $tree i32) (param $at i32) (result f64)
    (if (call $has (i32.const 4))
      (then
        (return
          (f64.convert_i32_u
            (i32.mul (call $word (i32.load offset=264 (i32.const 0)) (local.get $tree))
              (call $whole (i32.load offset=280 (i32.const 0)) (local.get $at)
                (i32.load offset=44 (i32.const 0))))))))
    (if (call $has (i32.const 128))
      (then
        (local.set $at
          (call $whole (i32.load offset=272 (i32.const 0)) (local.get $at) (i32.load offset=44 (i32.const 0))))))
    (call $number (i32.load offset=280 (i32.const 0)) (local.get $at) (call $has (i32.const 2))))

  ;; Where a score is.
  (func $score (param $output i32) (result i32)
    (i32.add (i32.load offset=52 (i32.const 0)) (i32.shl (local.get $output) (i32.const 3))))

  ;; Adds to a score, in the type of sums.
  (func $add (param $output i32) (param $value f64)
    (local $at i32)
    (local.set $at (call $score (local.get $output)))
    (f64.store (local.get $at)
      (if (result f64) (call $has (i32.const 2))
        (then
          (f64.promote_f32
            (f32.add (f32.demote_f64 (f64.load (local.get $at))) (f32.demote_f64 (local.get $value)))))
        (else (f64.add (f64.load (local.get $at)) (local.get $value))))))

  ;; An intercept.
  (func $intercept (param $output i32) (result f64)
    (if (call $has (i32.const 4))
      (then
        (return (f64.convert_i32_s (call $word (i32.load offset=288 (i32.const 0)) (local.get $output))))))
    (call $number (i32.load offset=288 (i32.const 0)) (local.get $output) (call $has (i32.const 2))))

  ;; Divides all scores, in doubles, and rounds them to the type of sums.
  (func $average
    (local $output i32) (local $quotient f64)
    (loop $outputs
      (local.set $quotient
        (f64.div (f64.load (call $score (local.get $output))) (f64.load offset=72 (i32.const 0))))
      (if (call $has (i32.const 2))
        (then (local.set $quotient (f64.promote_f32 (f32.demote_f64 (local.get $quotient))))))
      (f64.store (call $score (local.get $output)) (local.get $quotient))
      (local.set $output (i32.add (local.get $output) (i32.const 1)))
      (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0))))))

  ;; The raw scores of the row.
  (func $raw (export "raw")
    (local $output i32) (local $tree i32) (local $inner i32)
    (local $node i32) (local $next_leaf i32) (local $at i32) (local $bytes i32)
    (call $rank)
    (call $test)
    (loop $outputs
      (f64.store (call $score (local.get $output))
        (if (result f64) (call $has (i32.const 256))
          (then (f64.const 0))
          (else (call $intercept (local.get $output)))))
      (local.set $output (i32.add (local.get $output) (i32.const 1)))
      (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0)))))
    (local.set $bytes (i32.load offset=40 (i32.const 0)))
    (block $done
      (loop $trees
        (br_if $done (i32.ge_u (local.get $tree) (i32.load offset=32 (i32.const 0))))
        (local.set $inner (call $word (i32.load offset=224 (i32.const 0)) (local.get $tree)))
        (local.set $at
          (i32.add (local.get $next_leaf)
            (if (result i32) (i32.eq (local.get $bytes) (i32.const 1))
              (then (call $walk1 (local.get $node) (local.get $inner)))
              (else
                (if (result i32) (i32.eq (local.get $bytes) (i32.const 2))
                  (then (call $walk2 (local.get $node) (local.get $inner)))
                  (else (call $walk4 (local.get $node) (local.get $inner))))))))
        (local.set $node (i32.add (local.get $node) (local.get $inner)))
        (local.set $next_leaf (i32.add (i32.add (local.get $next_leaf) (local.get $inner)) (i32.const 1)))
        (if (call $has (i32.const 64))
          (then
            (local.set $at (i32.mul (local.get $at) (i32.load offset=8 (i32.const 0))))
            (local.set $output (i32.const 0))
            (loop $outputs
              (call $add (local.get $output)
                (call $leaf (local.get $tree) (i32.add (local.get $at) (local.get $output))))
              (local.set $output (i32.add (local.get $output) (i32.const 1)))
              (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0))))))
          (else
            (call $add
              (if (result i32) (call $has (i32.const 32))
                (then (call $word (i32.load offset=256 (i32.const 0)) (local.get $tree)))
                (else (i32.const 0)))
              (call $leaf (local.get $tree) (local.get $at)))))
        (local.set $tree (i32.add (local.get $tree) (i32.const 1)))
        (br $trees)))
    (if (call $has (i32.const 256))
      (then
        (local.set $output (i32.const 0))
        (loop $outputs
          (call $add (local.get $output) (call $intercept (local.get $output)))
          (local.set $output (i32.add (local.get $output) (i32.const 1)))
          (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0)))))))
    (if (call $has (i32.const 512)) (then (call $average)))
    (if (call $has (i32.const 4))
      (then
        (local.set $output (i32.const 0))
        (loop $outputs
          (f64.store (call $score (local.get $output))
            (f64.mul (f64.load (call $score (local.get $output))) (f64.load offset=96 (i32.const 0))))
          (local.set $output (i32.add (local.get $output) (i32.const 1)))
          (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0))))))))

  ;; 2 to a power between -1022 and 1023.
  (func $power (param $exponent i32) (result f64)
    (f64.reinterpret_i64
      (i64.shl (i64.extend_i32_s (i32.add (local.get $exponent) (i32.const 1023))) (i64.const 52))))

  ;; The exponential function: x = k log 2 + r, and the series of r.
  (func $exp (param $x f64) (result f64)
    (local $k f64) (local $r f64) (local $n i32) (local $half i32)
    (if (f64.ne (local.get $x) (local.get $x)) (then (return (local.get $x))))
    (if (f64.gt (local.get $x) (f64.const 709.782712893384)) (then (return (f64.const inf))))
    (if (f64.lt (local.get $x) (f64.const -745.1332191019412)) (then (return (f64.const 0))))
    (local.set $k (f64.nearest (f64.mul (local.get $x) (f64.const 0x1.71547652b82fep+0))))
    (local.set $r
      (f64.sub
        (f64.sub (local.get $x) (f64.mul (local.get $k) (f64.const 0x1.62e42feep-1)))
        (f64.mul (local.get $k) (f64.const 0x1.a39ef35793c76p-33))))
    (local.set $n (i32.trunc_f64_s (local.get $k)))
    (local.set $half (i32.shr_s (local.get $n) (i32.const 1)))
    (f64.const 0x1.6124613a86d09p-33)
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.1eed8eff8d898p-29))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.ae64567f544e4p-26))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.27e4fb7789f5cp-22))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.71de3a556c734p-19))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.a01a01a01a01ap-16))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.a01a01a01a01ap-13))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.6c16c16c16c17p-10))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.1111111111111p-7))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.5555555555555p-5))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1.5555555555555p-3))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1p-1))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1p+0))
    (f64.add (f64.mul (local.get $r)) (f64.const 0x1p+0))
    (f64.mul (call $power (local.get $half)))
    (f64.mul (call $power (i32.sub (local.get $n) (local.get $half)))))

  (func $exp32 (param $x f64) (result f64) (f64.promote_f32 (f32.demote_f64 (call $exp (local.get $x)))))

  ;; The position of the class of the row among the model's classes; -1 for a model that has none. The scores change on the way.
  (func (export "class") (result i32)
    (local $output i32) (local $best i32) (local $float i32) (local $score f64) (local $largest f64) (local $total f64)
    (if (i32.eqz (call $has (i32.const 2048))) (then (return (i32.const -1))))
    (call $raw)
    (if (call $has (i32.const 1024)) (then (call $average)))
    (if (call $has (i32.const 4096))
      (then
        (local.set $score (f64.load (call $score (i32.load offset=36 (i32.const 0)))))
        (local.set $largest (f64.load offset=80 (i32.const 0)))
        (if (call $has (i32.const 4))
          (then (local.set $largest (f64.mul (local.get $largest) (f64.load offset=96 (i32.const 0))))))
        (if (call $has (i32.const 8192)) (then (return (f64.gt (local.get $score) (local.get $largest)))))
        (return (f64.ge (local.get $score) (local.get $largest)))))
    ;; Softmax of floats or of doubles: exponentials of the distances from the largest, divided by their sum.
    (local.set $float (call $has (i32.const 16384)))
    (if (i32.or (local.get $float) (call $has (i32.const 32768)))
      (then
        (local.set $largest (f64.const -inf))
        (loop $outputs
          (local.set $score (f64.load (call $score (local.get $output))))
          (if (local.get $float)
            (then (local.set $score (f64.promote_f32 (f32.demote_f64 (local.get $score))))))
          (if (f64.gt (local.get $score) (local.get $largest)) (then (local.set $largest (local.get $score))))
          (local.set $output (i32.add (local.get $output) (i32.const 1)))
          (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0)))))
        (local.set $output (i32.const 0))
        (loop $outputs
          (local.set $score (f64.load (call $score (local.get $output))))
          (local.set $score
            (if (result f64) (local.get $float)
              (then
                (call $exp32
                  (f64.promote_f32
                    (f32.sub (f32.demote_f64 (local.get $score)) (f32.demote_f64 (local.get $largest))))))
              (else (call $exp (f64.sub (local.get $score) (local.get $largest))))))
          (local.set $total (f64.add (local.get $total) (local.get $score)))
          (f64.store (call $score (local.get $output)) (local.get $score))
          (local.set $output (i32.add (local.get $output) (i32.const 1)))
          (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0)))))
        (local.set $output (i32.const 0))
        (loop $outputs
          (local.set $score (f64.load (call $score (local.get $output))))
          (f64.store (call $score (local.get $output))
            (if (result f64) (local.get $float)
              (then
                (f64.promote_f32
                  (f32.div (f32.demote_f64 (local.get $score)) (f32.demote_f64 (local.get $total)))))
              (else (f64.div (local.get $score) (local.get $total)))))
          (local.set $output (i32.add (local.get $output) (i32.const 1)))
          (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0)))))))
    (if (call $has (i32.const 65536))
      (then
        (local.set $output (i32.const 0))
        (loop $outputs
          (f64.store (call $score (local.get $output))
            (f64.div (f64.const 1)
              (f64.add (f64.const 1)
                (call $exp
                  (f64.mul (f64.neg (f64.load offset=88 (i32.const 0)))
                    (f64.load (call $score (local.get $output))))))))
          (local.set $output (i32.add (local.get $output) (i32.const 1)))
          (br_if $outputs (i32.lt_u (local.get $output) (i32.load offset=8 (i32.const 0)))))))
    ;; The first of the largest.
    (local.set $output (i32.const 1))
    (block $done
      (loop $outputs
        (br_if $done (i32.ge_u (local.get $output) (i32.load offset=8 (i32.const 0))))
        (if (f64.gt (f64.load (call $score (local.get $output))) (f64.load (call $score (local.get $best))))
          (then (local.set $best (local.get $output))))
        (local.set $output (i32.add (local.get $output) (i32.const 1)))
        (br $outputs)))
    (local.get $best)))
