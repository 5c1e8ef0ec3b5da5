//! Replaces two parts of Rust's standard library: the allocator, and the handling of panics.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_void};
use core::ptr;

#[cfg(not(unix))]
compile_error!("without the feature `std` this library takes aligned memory as Unix gives it");

// SAFETY: these are functions of the C library and of POSIX, with the types that those standards
// give them. The links name the libraries that the shared library needs: the C library, its
// mathematics, and the unwinding functions to which Rust's own `alloc` refers.
#[link(name = "c")]
#[link(name = "m")]
#[cfg_attr(all(target_os = "linux", target_env = "gnu"), link(name = "gcc_s"))]
unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn realloc(old: *mut c_void, size: usize) -> *mut c_void;
    fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int;
    fn free(memory: *mut c_void);
    safe fn abort() -> !;
}

/// The alignment of memory from `malloc`: 16 bytes on 64-bit systems, 8 on 32-bit systems.
const MALLOC_ALIGNS: usize = 2 * size_of::<usize>();

/// The allocator of the C library.
struct Malloc;

#[global_allocator]
static MALLOC: Malloc = Malloc;

// SAFETY: memory of `malloc` and `posix_memalign` has the size and alignment that were requested,
// and `free` accepts both kinds.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNS {
            // SAFETY: `malloc` accepts any size.
            return unsafe { malloc(layout.size()) }.cast();
        }
        let mut memory = ptr::null_mut();
        // SAFETY: the alignment is a power of two and larger than a pointer; `memory` is a local
        // variable.
        match unsafe { posix_memalign(&mut memory, layout.align(), layout.size()) } {
            0 => memory.cast(),
            _ => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller got the memory from `alloc` or `realloc`.
        unsafe { free(memory.cast()) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNS {
            // SAFETY: the caller got the memory from `alloc`, which got it from `malloc`.
            return unsafe { realloc(memory.cast(), size) }.cast();
        }
        // SAFETY: the caller promises that the size, rounded up to the alignment, does not
        // overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above. The part that fits into both memories is copied, and the old one is
        // freed.
        unsafe {
            let new = self.alloc(wanted);
            if !new.is_null() {
                ptr::copy_nonoverlapping(memory, new, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            new
        }
    }
}

/// The program cannot continue, and without Rust's standard library there is no way to report why.
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

/// Rust's own `alloc` was compiled for programs that unwind, and refers to this function. Nothing
/// unwinds here, so that it is never called.
// SAFETY: no other part of this library has a function of this name.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> ! {
    abort()
}
