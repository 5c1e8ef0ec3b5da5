//! Converts arrays to vectors and back, by value, for the modules of instruction sets.

macro_rules! vectors {
    ($($name:ident: $from:ty => $to:ty;)*) => {
        $(
            #[inline]
            fn $name(value: $from) -> $to {
                // SAFETY: both types have the same size (the compiler refuses others) and every bit
                // pattern is a value.
                unsafe { core::mem::transmute::<$from, $to>(value) }
            }
        )*
    };
}

pub(crate) use vectors;
