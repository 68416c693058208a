//! `gemtool platforms`.

use crate::{fits, gemtool};

#[test]
fn the_table_is_aligned_and_fits_the_page() {
    let text = gemtool("platforms").held();
    fits(&text, 100);
    let line = text.lines().find(|line| line.starts_with("  jsl ")).unwrap();
    assert_eq!(
        line,
        "  jsl     Jasper Lake                              11.0    5  llc llc-bypass-mocs aperture (wt)"
    );
    let columns = |line: &str| line.find("llc").or(line.find("snoop"));
    let rows: Vec<_> = text.lines().filter_map(columns).collect();
    assert!(rows.iter().all(|column| *column == rows[0]));
}

#[test]
fn a_platform_is_found_by_name_alias_and_id() {
    let by_name = gemtool("platforms jsl").held();
    for other in ["4e61", "0x4E61", "8086:4e61", "JSL"] {
        assert_eq!(gemtool(&format!("platforms {other}")).held(), by_name, "{other}");
    }
    assert!(by_name.starts_with("jsl: Jasper Lake, under kernel 6.12\n"));
    assert!(by_name.contains("8086:4e51 8086:4e55 8086:4e57 8086:4e61 8086:4e71"));
    assert!(gemtool("platforms apl").held().starts_with("bxt: "));
}

#[test]
fn meteor_lake_loses_its_llc_in_6_5() {
    let caps = |kernel| gemtool(&format!("platforms mtl --json --kernel {kernel}")).json()["caps"].clone();
    assert!(caps("6.1").as_array().unwrap().contains(&"llc".into()));
    assert!(!caps("6.12").as_array().unwrap().contains(&"llc".into()));
}

#[test]
fn refused_calls_are_listed_with_errno_and_source() {
    let mtl = gemtool("platforms mtl --json").json();
    let refused = mtl["refused"].as_array().unwrap();
    let call = refused.iter().find(|call| call["call"] == "SET_CACHING").unwrap();
    assert_eq!(
        (&call["errno"], &call["source"]),
        (&"EOPNOTSUPP".into(), &"i915_gem_set_caching_ioctl".into())
    );
}
