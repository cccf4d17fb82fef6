;; Products of float32 matrices, and the two sums of a softmax, with SIMD. All arguments are byte
;; addresses and counts; products.js says what each means. `make wasm` assembles this file.
(module
  (import "engine" "memory" (memory 1))

  ;; y = x wᵀ + bias, for `fours` times four rows of x. Rows of x are `width` bytes, a multiple of 32;
  ;; rows of y are `outputs` numbers, an even number. w has rows of `width` bytes, or, if `half`, of
  ;; half as many in half precision, which are widened two by two into `wide`, room for two rows.
  ;; Four rows of x meet two of w at a time, for each load to serve often.
  (func (export "product")
    (param $x i32) (param $fours i32) (param $w i32) (param $outputs i32) (param $width i32)
    (param $bias i32) (param $y i32) (param $half i32) (param $wide i32)
    (local $left i32) (local $k i32) (local $stride i32) (local $to i32) (local $end i32)
    (local $x0 i32) (local $x1 i32) (local $x2 i32) (local $x3 i32) (local $w0 i32) (local $w1 i32)
    (local $u v128) (local $v v128) (local $t v128)
    (local $a0 v128) (local $a1 v128) (local $a2 v128) (local $a3 v128)
    (local $b0 v128) (local $b1 v128) (local $b2 v128) (local $b3 v128)
    (local.set $stride (i32.shl (local.get $outputs) (i32.const 2)))
    (local.set $end (i32.add (local.get $y) (local.get $stride)))
    (loop $pairs
      (if (local.get $half)
        (then
          (call $widen (local.get $w) (local.get $wide) (i32.shl (local.get $width) (i32.const 1)))
          (local.set $w0 (local.get $wide))
          (local.set $w (i32.add (local.get $w) (local.get $width))))
        (else
          (local.set $w0 (local.get $w))
          (local.set $w (i32.add (local.get $w) (i32.shl (local.get $width) (i32.const 1))))))
      (local.set $w1 (i32.add (local.get $w0) (local.get $width)))
      (local.set $x0 (local.get $x))
      (local.set $to (local.get $y))
      (local.set $left (local.get $fours))
      (loop $rows
        (local.set $x1 (i32.add (local.get $x0) (local.get $width)))
        (local.set $x2 (i32.add (local.get $x1) (local.get $width)))
        (local.set $x3 (i32.add (local.get $x2) (local.get $width)))
        (local.set $a0 (v128.const f32x4 0 0 0 0)) (local.set $b0 (v128.const f32x4 0 0 0 0))
        (local.set $a1 (v128.const f32x4 0 0 0 0)) (local.set $b1 (v128.const f32x4 0 0 0 0))
        (local.set $a2 (v128.const f32x4 0 0 0 0)) (local.set $b2 (v128.const f32x4 0 0 0 0))
        (local.set $a3 (v128.const f32x4 0 0 0 0)) (local.set $b3 (v128.const f32x4 0 0 0 0))
        (local.set $k (i32.const 0))
        (loop $terms
          (local.set $u (v128.load (i32.add (local.get $w0) (local.get $k))))
          (local.set $v (v128.load (i32.add (local.get $w1) (local.get $k))))
          (local.set $t (v128.load (i32.add (local.get $x0) (local.get $k))))
          (local.set $a0 (f32x4.add (local.get $a0) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b0 (f32x4.add (local.get $b0) (f32x4.mul (local.get $t) (local.get $v))))
          (local.set $t (v128.load (i32.add (local.get $x1) (local.get $k))))
          (local.set $a1 (f32x4.add (local.get $a1) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b1 (f32x4.add (local.get $b1) (f32x4.mul (local.get $t) (local.get $v))))
          (local.set $t (v128.load (i32.add (local.get $x2) (local.get $k))))
          (local.set $a2 (f32x4.add (local.get $a2) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b2 (f32x4.add (local.get $b2) (f32x4.mul (local.get $t) (local.get $v))))
          (local.set $t (v128.load (i32.add (local.get $x3) (local.get $k))))
          (local.set $a3 (f32x4.add (local.get $a3) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b3 (f32x4.add (local.get $b3) (f32x4.mul (local.get $t) (local.get $v))))
          (local.set $u (v128.load offset=16 (i32.add (local.get $w0) (local.get $k))))
          (local.set $v (v128.load offset=16 (i32.add (local.get $w1) (local.get $k))))
          (local.set $t (v128.load offset=16 (i32.add (local.get $x0) (local.get $k))))
          (local.set $a0 (f32x4.add (local.get $a0) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b0 (f32x4.add (local.get $b0) (f32x4.mul (local.get $t) (local.get $v))))
          (local.set $t (v128.load offset=16 (i32.add (local.get $x1) (local.get $k))))
          (local.set $a1 (f32x4.add (local.get $a1) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b1 (f32x4.add (local.get $b1) (f32x4.mul (local.get $t) (local.get $v))))
          (local.set $t (v128.load offset=16 (i32.add (local.get $x2) (local.get $k))))
          (local.set $a2 (f32x4.add (local.get $a2) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b2 (f32x4.add (local.get $b2) (f32x4.mul (local.get $t) (local.get $v))))
          (local.set $t (v128.load offset=16 (i32.add (local.get $x3) (local.get $k))))
          (local.set $a3 (f32x4.add (local.get $a3) (f32x4.mul (local.get $t) (local.get $u))))
          (local.set $b3 (f32x4.add (local.get $b3) (f32x4.mul (local.get $t) (local.get $v))))
          (br_if $terms
            (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 32))) (local.get $width))))
        ;; The four lanes of each sum are added; each row gets a pair of outputs.
        (local.set $t (v128.load64_zero (local.get $bias)))
        (v128.store64_lane 0 (local.get $to)
          (f32x4.add (local.get $t) (call $lanes (local.get $a0) (local.get $b0))))
        (local.set $to (i32.add (local.get $to) (local.get $stride)))
        (v128.store64_lane 0 (local.get $to)
          (f32x4.add (local.get $t) (call $lanes (local.get $a1) (local.get $b1))))
        (local.set $to (i32.add (local.get $to) (local.get $stride)))
        (v128.store64_lane 0 (local.get $to)
          (f32x4.add (local.get $t) (call $lanes (local.get $a2) (local.get $b2))))
        (local.set $to (i32.add (local.get $to) (local.get $stride)))
        (v128.store64_lane 0 (local.get $to)
          (f32x4.add (local.get $t) (call $lanes (local.get $a3) (local.get $b3))))
        (local.set $to (i32.add (local.get $to) (local.get $stride)))
        (local.set $x0 (i32.add (local.get $x3) (local.get $width)))
        (br_if $rows (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
      (local.set $bias (i32.add (local.get $bias) (i32.const 8)))
      (br_if $pairs
        (i32.lt_u (local.tee $y (i32.add (local.get $y) (i32.const 8))) (local.get $end)))))

  ;; Numbers of half precision as float32, `bytes` of them. Their exponent and fraction, moved to
  ;; their places in a float32, give the number times 2 to the -112, subnormal ones too.
  (func $widen (param $from i32) (param $to i32) (param $bytes i32)
    (local $end i32) (local $h v128)
    (local.set $end (i32.add (local.get $to) (local.get $bytes)))
    (loop $eights
      (local.set $h (v128.load (local.get $from)))
      (v128.store (local.get $to) (f32x4.mul
        (v128.const f32x4 0x1p112 0x1p112 0x1p112 0x1p112)
        (v128.and
          (v128.const i32x4 0x8fffe000 0x8fffe000 0x8fffe000 0x8fffe000)
          (i32x4.shl (i32x4.extend_low_i16x8_s (local.get $h)) (i32.const 13)))))
      (v128.store offset=16 (local.get $to) (f32x4.mul
        (v128.const f32x4 0x1p112 0x1p112 0x1p112 0x1p112)
        (v128.and
          (v128.const i32x4 0x8fffe000 0x8fffe000 0x8fffe000 0x8fffe000)
          (i32x4.shl (i32x4.extend_high_i16x8_s (local.get $h)) (i32.const 13)))))
      (local.set $from (i32.add (local.get $from) (i32.const 16)))
      (br_if $eights
        (i32.lt_u (local.tee $to (i32.add (local.get $to) (i32.const 32))) (local.get $end)))))

  ;; The sums of the lanes of a and of b, in lanes 0 and 1.
  (func $lanes (param $a v128) (param $b v128) (result v128)
    (local.set $a (f32x4.add
      (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $a) (local.get $b))
      (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $a) (local.get $b))))
    (f32x4.add
      (i8x16.shuffle 0 1 2 3 8 9 10 11 0 1 2 3 8 9 10 11 (local.get $a) (local.get $a))
      (i8x16.shuffle 4 5 6 7 12 13 14 15 4 5 6 7 12 13 14 15 (local.get $a) (local.get $a))))

  ;; The largest of `count` numbers, a multiple of 4.
  (func (export "largest") (param $y i32) (param $count i32) (result f32)
    (local $end i32) (local $m v128)
    (local.set $end (i32.add (local.get $y) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $m (v128.load (local.get $y)))
    (loop $numbers
      (local.set $m (f32x4.pmax (local.get $m) (v128.load (local.get $y))))
      (br_if $numbers
        (i32.lt_u (local.tee $y (i32.add (local.get $y) (i32.const 16))) (local.get $end))))
    (f32.max
      (f32.max (f32x4.extract_lane 0 (local.get $m)) (f32x4.extract_lane 1 (local.get $m)))
      (f32.max (f32x4.extract_lane 2 (local.get $m)) (f32x4.extract_lane 3 (local.get $m)))))

  ;; The sum of exp(number - largest) over `count` numbers, a multiple of 4. exp is a power of two
  ;; times a Taylor series of degree 6 on ±ln 2 / 2; the sum is kept in float64.
  (func (export "sumOfPowers") (param $y i32) (param $count i32) (param $largest f32) (result f64)
    (local $end i32) (local $m v128) (local $r v128) (local $n v128) (local $p v128) (local $s v128)
    (local.set $end (i32.add (local.get $y) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $m (f32x4.splat (local.get $largest)))
    (loop $numbers
      (local.set $r (f32x4.pmax
        (v128.const f32x4 -87 -87 -87 -87)
        (f32x4.sub (v128.load (local.get $y)) (local.get $m))))
      (local.set $n (f32x4.nearest (f32x4.mul (local.get $r)
        (v128.const f32x4 1.44269504 1.44269504 1.44269504 1.44269504))))
      (local.set $r (f32x4.sub (local.get $r) (f32x4.mul (local.get $n)
        (v128.const f32x4 0.693359375 0.693359375 0.693359375 0.693359375))))
      (local.set $r (f32x4.add (local.get $r) (f32x4.mul (local.get $n)
        (v128.const f32x4 2.12194440e-4 2.12194440e-4 2.12194440e-4 2.12194440e-4))))
      (local.set $p (v128.const f32x4 1.3888889e-3 1.3888889e-3 1.3888889e-3 1.3888889e-3))
      (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $r))
        (v128.const f32x4 8.3333333e-3 8.3333333e-3 8.3333333e-3 8.3333333e-3)))
      (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $r))
        (v128.const f32x4 4.16666667e-2 4.16666667e-2 4.16666667e-2 4.16666667e-2)))
      (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $r))
        (v128.const f32x4 0.166666667 0.166666667 0.166666667 0.166666667)))
      (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $r))
        (v128.const f32x4 0.5 0.5 0.5 0.5)))
      (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $r))
        (v128.const f32x4 1 1 1 1)))
      (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $r))
        (v128.const f32x4 1 1 1 1)))
      (local.set $p (f32x4.mul (local.get $p) (i32x4.shl
        (i32x4.add (i32x4.trunc_sat_f32x4_s (local.get $n)) (v128.const i32x4 127 127 127 127))
        (i32.const 23))))
      (local.set $s (f64x2.add (local.get $s) (f64x2.add
        (f64x2.promote_low_f32x4 (local.get $p))
        (f64x2.promote_low_f32x4 (i8x16.shuffle 8 9 10 11 12 13 14 15 8 9 10 11 12 13 14 15
          (local.get $p) (local.get $p))))))
      (br_if $numbers
        (i32.lt_u (local.tee $y (i32.add (local.get $y) (i32.const 16))) (local.get $end))))
    (f64.add (f64x2.extract_lane 0 (local.get $s)) (f64x2.extract_lane 1 (local.get $s)))))
