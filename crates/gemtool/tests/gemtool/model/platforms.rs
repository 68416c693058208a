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
fn every_answer_about_a_kernel_says_whether_it_was_run_or_read_or_is_assumed() {
    for (kernel, word, basis) in [
        ("6.12", "was run", "run"),
        ("7.3", "was read", "read"),
        ("5.14", "is assumed", "assumed"),
        ("8.0", "is assumed", "assumed"),
        ("99.1", "is assumed", "assumed"),
    ] {
        let sentence = format!("  Kernel {kernel} {word}: ");
        for line in [
            "platforms",
            "platforms glk",
            "explain --platform glk --level none --writer cpu --reader gpu",
            "explain --platform glk --who kernel --event acquire",
        ] {
            let text = gemtool(&format!("{line} --kernel {kernel}")).held();
            assert_eq!(text.matches(&sentence).count(), 1, "{line}: {text}");
        }
        let table = gemtool(&format!("explain --platform i830 --table --kernel {kernel}")).held();
        assert_eq!(table.matches(&sentence).count(), 1, "{table}");
        let check = format!("check --platform i830 --caller protocol --kernel {kernel}");
        let text = gemtool(&check).held();
        assert!(text.contains(&format!("                Kernel {kernel} {word}: ")), "{text}");
        assert_eq!(gemtool(&format!("{check} --json")).json()["scope"]["bases"], serde_json::json!([basis]));
        assert_eq!(gemtool(&format!("platforms --json --kernel {kernel}")).json()["basis"], basis);
        let rows = gemtool(&format!("explain --platform i830 --table --json --kernel {kernel}")).json_lines();
        assert!(rows.len() > 100 && rows.iter().all(|row| row["basis"] == basis));
    }
}

#[test]
fn the_table_of_the_kernels_part_says_it_once() {
    let text = gemtool("explain --platform i830 --table --who kernel --kernel 8.0").held();
    assert_eq!(text.matches("  Kernel 8.0 is assumed: ").count(), 1);
}

#[test]
fn the_line_of_a_device_says_it_of_a_kernel_that_was_not_run() {
    let line = |kernel| gemtool(&format!("info --device sim:glk,kernel={kernel}")).held();
    for (kernel, end) in
        [("6.1", ""), ("6.12", ""), ("7.3", " (read)"), ("6.9", " (assumed)"), ("8.0", " (assumed)")]
    {
        let text = line(kernel);
        let first = text.lines().next().unwrap();
        assert!(first.ends_with(&format!("kernel {kernel}{end}")), "{first}");
        let json = gemtool(&format!("info --json --device sim:glk,kernel={kernel}")).json();
        let basis = end.trim_matches([' ', '(', ')']);
        assert_eq!(json["device"]["basis"], if basis.is_empty() { "run" } else { basis });
    }
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
