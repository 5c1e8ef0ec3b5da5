//! The exponential function and its relatives: from the standard library, or without it from the C
//! library, which the standard library calls as well.

#[cfg(all(feature = "libm", not(feature = "std")))]
pub(crate) use with_c::*;
#[cfg(feature = "std")]
pub(crate) use with_std::*;

#[cfg(feature = "std")]
mod with_std {
    pub(crate) fn exp(x: f64) -> f64 {
        x.exp()
    }

    pub(crate) fn exp32(x: f32) -> f32 {
        x.exp()
    }

    pub(crate) fn ln_1p(x: f64) -> f64 {
        x.ln_1p()
    }

    pub(crate) fn ln_1p32(x: f32) -> f32 {
        x.ln_1p()
    }
}

#[cfg(all(feature = "libm", not(feature = "std")))]
#[allow(unsafe_code, reason = "functions of the C library, with the types that the C standard gives them")]
mod with_c {
    // SAFETY: the C standard says that these functions exist and have these types; each takes any
    // number and accesses no memory of the caller.
    unsafe extern "C" {
        pub(crate) safe fn exp(x: f64) -> f64;
        #[link_name = "expf"]
        pub(crate) safe fn exp32(x: f32) -> f32;
        #[link_name = "log1p"]
        pub(crate) safe fn ln_1p(x: f64) -> f64;
        #[link_name = "log1pf"]
        pub(crate) safe fn ln_1p32(x: f32) -> f32;
    }
}
