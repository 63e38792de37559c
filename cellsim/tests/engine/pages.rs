//! Clients that download pages of several objects.

use std::collections::BTreeMap;

use parquet::record::RowAccessor;
use serde_json::json;

use crate::networks::{finished, network, rows, run, streams};

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

#[test]
fn pages_of_sites_have_the_objects_of_one_site_each() {
    let mut run = run("web", 1, 20_000, 1_000_000_000, 60);
    run["traffic"]["web"]["sites"] = json!({"long": [30_000, 500, 700], "short": [10_000]});
    let folder = finished(&network("web", 1), &run, 10_000);
    let mut pages: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for row in rows(folder.path(), "streams") {
        let [number, wanted] = [3, 16].map(|column| row.get_long(column).expect("a number"));
        pages.entry(number / 1_000_000).or_default().push(wanted);
    }
    // The run ended in the last one.
    pages.pop_last();
    let [long, short] = [vec![30_000, 500, 700], vec![10_000]];
    // `tests/unit/engines/test_draws.py` expects the same ones.
    let expected = [&short, &long, &long, &short, &short, &long];
    let pages: Vec<_> = pages.into_values().collect();
    assert!(pages.iter().zip(expected).all(|(page, expected)| page == expected), "{pages:?}");
    assert!(pages.len() > 6, "{pages:?}");
}
