//! Clients that download pages of several objects.

use serde_json::json;

use crate::networks::{network, run, streams};

#[test]
fn a_page_is_its_first_object_then_the_others_then_a_pause() {
    let mut run = run("web", 1, 20_000, 1_000_000_000, 60);
    run["traffic"]["web"]["page_objects"] = json!([[0, 6], [1_000_000, 6]]);
    run["traffic"]["web"]["parallel_streams"] = json!(2);
    // Rows are in the order in which downloads end.
    let numbers: Vec<i64> = streams(&network("web", 1), &run, 10_000).iter().map(|row| row.1).collect();
    assert!(numbers.len() > 60, "{}", numbers.len());
    for (page, objects) in (1..).zip(numbers.chunks_exact(6)) {
        assert_eq!(objects[0], page * 1_000_000 + 1);
        let mut sorted = objects.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(page * 1_000_000 + 1..=page * 1_000_000 + 6));
    }
}
