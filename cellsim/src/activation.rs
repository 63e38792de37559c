//! In which order the streams of a circuit go on when its window opens: the knob of the starvation report.

use crate::spec::ActivationOrder;

/// Put `streams` into the order of their activation. They come as tor lists them, the newest first (`n_streams`,
/// src/core/or/or_circuit_st.h).
///
/// `last_served` says when a stream last had a cell packaged, 0 for never; those served at the same time keep the
/// order of the list. `first` draws the place of the stream that a random order begins with; the others follow as
/// in a ring (`circuit_resume_edge_reading_helper`, src/core/or/relay.c).
pub fn activate<S: Copy>(
    order: ActivationOrder,
    streams: &mut [S],
    last_served: impl Fn(S) -> u64,
    first: impl FnOnce(usize) -> usize,
) {
    match order {
        ActivationOrder::List => {}
        ActivationOrder::Reversed => streams.reverse(),
        ActivationOrder::Random => {
            if streams.len() > 1 {
                streams.rotate_left(first(streams.len()));
            }
        }
        ActivationOrder::LeastRecentlyServed => streams.sort_by_key(|&stream| last_served(stream)),
    }
}
