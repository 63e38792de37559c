//! Memory in large pages.
//!
//! Each event of a large network touches another part of some 100 MB. In pages of 4 KiB most of these
//! touches miss the processor's table of pages as well as its caches; in pages of 2 MiB none does. This
//! allocator asks for such pages for every block that fills one, where the kernel has them.

use std::alloc::{GlobalAlloc, Layout, System};

const PAGE_BYTES: usize = 2 << 20;

/// The system's allocator, with large pages for large blocks.
pub struct LargePages;

// SAFETY: all memory comes from and goes back to the system's allocator, with one and the same layout;
// advice about pages changes no content.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let layout = whole_pages(layout);
        let block = System.alloc(layout);
        if layout.align() >= PAGE_BYTES && !block.is_null() {
            libc::madvise(block.cast(), layout.size(), libc::MADV_HUGEPAGE);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, whole_pages(layout));
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size().max(size) < PAGE_BYTES {
            return System.realloc(block, layout, size);
        }
        let Ok(larger) = Layout::from_size_align(size, layout.align()) else {
            return std::ptr::null_mut();
        };
        let moved = self.alloc(larger);
        if !moved.is_null() {
            std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
            self.dealloc(block, layout);
        }
        moved
    }
}

/// The layout that a block of `layout` is taken with.
fn whole_pages(layout: Layout) -> Layout {
    if layout.size() < PAGE_BYTES {
        return layout;
    }
    layout.align_to(PAGE_BYTES).map_or(layout, |aligned| aligned.pad_to_align())
}
