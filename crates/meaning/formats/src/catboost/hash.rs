//! CatBoost's hash of a category: the low 32 bits of CityHash64 (version 1.0) of the text in UTF-8.

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;
const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;

/// The hash by which CatBoost knows a category. Whole numbers are hashed as their decimal text.
pub fn category_hash(text: &str) -> u32 {
    city64(text.as_bytes()) as u32
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
}

fn mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

fn join(low: u64, high: u64) -> u64 {
    let a = mix((low ^ high).wrapping_mul(MULTIPLIER));
    let b = mix((high ^ a).wrapping_mul(MULTIPLIER));
    b.wrapping_mul(MULTIPLIER)
}

fn weak(bytes: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let [w, x, y, z] = [0, 8, 16, 24].map(|offset| word(bytes, at + offset));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let total = a.wrapping_add(x).wrapping_add(y);
    (total.wrapping_add(z), b.wrapping_add(total.rotate_right(44)).wrapping_add(a))
}

fn city64(s: &[u8]) -> u64 {
    let n = s.len();
    match n {
        0 => K2,
        1..=3 => {
            let y = u64::from(s[0]) + (u64::from(s[n >> 1]) << 8);
            let z = n as u64 + (u64::from(s[n - 1]) << 2);
            mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2)
        }
        4..=8 => join(n as u64 + (half(s, 0) << 3), half(s, n - 4)),
        9..=16 => {
            let (a, b) = (word(s, 0), word(s, n - 8));
            join(a, b.wrapping_add(n as u64).rotate_right(n as u32)) ^ b
        }
        17..=32 => {
            let a = word(s, 0).wrapping_mul(K1);
            let b = word(s, 8);
            let c = word(s, n - 8).wrapping_mul(K2);
            let d = word(s, n - 16).wrapping_mul(K0);
            join(
                a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
                a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(n as u64),
            )
        }
        33..=64 => up_to_64(s),
        _ => long(s),
    }
}

fn up_to_64(s: &[u8]) -> u64 {
    let n = s.len();
    let part = |start: u64, z: u64, second: u64, third: u64| {
        let mut a = start;
        let b = a.wrapping_add(z).rotate_right(52);
        let mut c = a.rotate_right(37);
        a = a.wrapping_add(second);
        c = c.wrapping_add(a.rotate_right(7));
        a = a.wrapping_add(third);
        (a.wrapping_add(z), b.wrapping_add(a.rotate_right(31)).wrapping_add(c))
    };
    let start = word(s, 0).wrapping_add((n as u64).wrapping_add(word(s, n - 16)).wrapping_mul(K0));
    let (vf, vs) = part(start, word(s, 24), word(s, 8), word(s, 16));
    let start = word(s, 16).wrapping_add(word(s, n - 32));
    let (wf, ws) = part(start, word(s, n - 8), word(s, n - 24), word(s, n - 16));
    let r = mix(vf.wrapping_add(ws).wrapping_mul(K2).wrapping_add(wf.wrapping_add(vs).wrapping_mul(K0)));
    mix(r.wrapping_mul(K0).wrapping_add(vs)).wrapping_mul(K2)
}

fn long(s: &[u8]) -> u64 {
    let n = s.len();
    let mut x = word(s, 0);
    let mut y = word(s, n - 16) ^ K1;
    let mut z = word(s, n - 56) ^ K0;
    let mut v = weak(s, n - 64, n as u64, y);
    let mut w = weak(s, n - 32, (n as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    for at in (0..(n - 1) / 64 * 64).step_by(64) {
        x = x
            .wrapping_add(y)
            .wrapping_add(v.0)
            .wrapping_add(word(s, at + 16))
            .rotate_right(37)
            .wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(word(s, at + 48)).rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak(s, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak(s, at + 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    join(join(v.0, w.0).wrapping_add(mix(y).wrapping_mul(K1)).wrapping_add(z), join(v.1, w.1).wrapping_add(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What CatBoost 1.2.10 writes into `cat_features_hash`.
    #[test]
    fn hashes_are_those_of_the_library() {
        for (text, hash) in CASES {
            assert_eq!(category_hash(text), hash, "{text:?}");
        }
    }

    const CASES: [(&str, u32); 19] = [
        ("", 0x2f90404f),
        ("a", 0xd003acfa),
        ("bb", 0x85aca1e2),
        ("ccc", 0xacb5dab5),
        ("dddd", 0x78a40753),
        ("0", 0xaa458312),
        ("-1", 0x112f17a6),
        ("hello world", 0x6bb6a0a5),
        ("exactly-sixteen!", 0x5dcd04c2),
        ("xxxxxxxxxxxxxxxxx", 0x17d97655),
        ("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", 0xc5e6ff61),
        ("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", 0x9ac31e15),
        ("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", 0x9f78359d),
        ("é unicode ü", 0xfd2c0771),
        ("wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww", 0x7d6a1b61),
        ("wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww", 0xdbd9514b),
        ("vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv", 0x832155e6),
        (
            "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqr",
            0xb2724a10,
        ),
        (
            "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
            0x15035407,
        ),
    ];
}
