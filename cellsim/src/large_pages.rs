//! Memory in large pages.
//!
//! Each event of a large network touches another part of some 100 MB. In pages of 4 KiB most of these
//! touches miss the processor's table of pages as well as its caches; in pages of 2 MiB none does. This
//! allocator asks for such pages for every block that fills one, where the kernel has them, and [`advise_heap`]
//! for those where small blocks lie.

use std::alloc::{GlobalAlloc, Layout, System};

const PAGE_BYTES: usize = 2 << 20;
const HEAP_BYTES: i32 = 256 << 20;

/// The system's allocator, with large pages for large blocks.
pub struct LargePages;

// SAFETY: all memory comes from and goes back to the system's allocator. A block is taken and given back with
// one and the same layout, since `whole_pages` is a function of the caller's layout alone.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let layout = whole_pages(layout);
        // SAFETY: the caller vouches for a size above zero, and `whole_pages` only rounds up.
        let block = unsafe { System.alloc(layout) };
        if layout.align() >= PAGE_BYTES && !block.is_null() {
            // SAFETY: the range is the new block; advice about pages changes no content.
            unsafe { libc::madvise(block.cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `alloc` took the block with this very layout.
        unsafe { System.dealloc(block, whole_pages(layout)) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < PAGE_BYTES {
            // SAFETY: both layouts are below a page, so the system's allocator knows the block by `layout`.
            return unsafe { System.realloc(block, layout, size) };
        }
        let Ok(larger) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller vouches for a `size` above zero.
        let moved = unsafe { self.alloc(larger) };
        if !moved.is_null() {
            // SAFETY: two different blocks of at least so many bytes; the old one is the caller's to give up.
            unsafe {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

/// Have small blocks lie in large pages too: the heap grows by [`HEAP_BYTES`] at once, of which only what is
/// used takes memory, and the kernel is asked for large pages there. To be called before all else.
pub fn advise_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: these are glibc's own settings, and advice about pages changes no content.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, PAGE_BYTES as i32);
        libc::mallopt(libc::M_TOP_PAD, HEAP_BYTES);
        let start = (libc::sbrk(0) as usize).next_multiple_of(PAGE_BYTES);
        libc::free(std::hint::black_box(libc::malloc(PAGE_BYTES / 2)));
        let end = libc::sbrk(0) as usize;
        libc::madvise(start as *mut _, end.saturating_sub(start), libc::MADV_HUGEPAGE);
    }
}

/// The layout that a block of `layout` is taken with.
fn whole_pages(layout: Layout) -> Layout {
    if layout.size() < PAGE_BYTES {
        return layout;
    }
    layout.align_to(PAGE_BYTES).map_or(layout, |aligned| aligned.pad_to_align())
}
