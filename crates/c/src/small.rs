//! What Rust's standard library does elsewhere: memory, and what happens at a panic.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_void};
use core::ptr;

#[cfg(not(unix))]
compile_error!("without the feature `std` this library takes aligned memory as Unix gives it");

// The shared library says which others it needs: C and its mathematics, and what Rust's own `alloc` names for unwinding.
// SAFETY: functions of the C library and of POSIX, with the types that these give them.
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

/// What `malloc` aligns to: 16 bytes on systems of 64 bits, 8 on those of 32.
const MALLOC_ALIGNS: usize = 2 * size_of::<usize>();

/// The allocator of C.
struct Malloc;

#[global_allocator]
static MALLOC: Malloc = Malloc;

// SAFETY: memory of `malloc` and `posix_memalign` is as large and as aligned as asked for, and `free` takes both.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNS {
            // SAFETY: any size may be asked for.
            return unsafe { malloc(layout.size()) }.cast();
        }
        let mut memory = ptr::null_mut();
        // SAFETY: the alignment is a power of two above the size of a pointer; the place is ours.
        match unsafe { posix_memalign(&mut memory, layout.align(), layout.size()) } {
            0 => memory.cast(),
            _ => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller has it from `alloc` or `realloc`.
        unsafe { free(memory.cast()) };
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= MALLOC_ALIGNS {
            // SAFETY: the caller has it from `alloc`, which took it from `malloc`.
            return unsafe { realloc(memory.cast(), size) }.cast();
        }
        // SAFETY: the caller gives a size that, rounded up to the alignment, does not overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above; the old memory is copied as far as both reach, and then given back.
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

/// Nothing can go on, and nobody is there to tell.
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

/// Rust's own `alloc`, which was compiled for programs that unwind, names this function. Nothing unwinds here, so that nobody calls it.
// SAFETY: no other part of this library has a function of this name.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> ! {
    abort()
}
