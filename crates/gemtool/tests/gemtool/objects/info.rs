//! `gemtool info`.

use serde_json::Value;

use crate::{fits, gemtool};

/// Returns the member of `list` whose `field` is `name`.
#[track_caller]
fn named<'a>(list: &'a Value, field: &str, name: &str) -> &'a Value {
    list.as_array()
        .unwrap()
        .iter()
        .find(|row| row[field] == name)
        .unwrap_or_else(|| panic!("no {name}: {list}"))
}

#[test]
fn reported_capabilities_are_used_and_marked_as_reported() {
    let info = gemtool("info --json --device sim:jsl").json();
    assert_eq!((&info["device"]["platform"], &info["pci_id"]), (&"jsl".into(), &"8086:4e61".into()));
    let llc = named(&info["capabilities"], "cap", "llc");
    assert_eq!((&llc["set"], &llc["source"]), (&true.into(), &"GETPARAM HAS_LLC".into()));
    let bypass = named(&info["capabilities"], "cap", "llc-bypass-mocs");
    assert_eq!(
        (&bypass["set"], &bypass["source"]),
        (&true.into(), &"i915_gem_object.c: i915_gem_object_can_bypass_llc".into())
    );
    assert_eq!(info["disagreements"], Value::Array(vec![]));
    assert_eq!(named(&info["params"], "param", "HAS_LLC")["value"], 1);
}

#[test]
fn a_map_mode_that_is_refused_is_listed_with_errno_and_reason() {
    let info = gemtool("info --json --device sim:dg2").json();
    let gtt = named(&info["maps"], "mode", "gtt");
    assert_eq!((&gtt["available"], &gtt["errno"]), (&false.into(), &"ENODEV".into()));
    assert!(gtt["why"].as_str().unwrap().contains("aperture"));
    assert_eq!(named(&info["maps"], "mode", "fixed")["available"], true);
}

#[test]
fn jsl_leaves_zeroes_unflushed_until_6_2() {
    let quirks = |kernel| {
        gemtool(&format!("info --json --device sim:jsl,kernel={kernel}")).json()["quirks"].to_string()
    };
    assert!(quirks("6.0").contains("unflushed-zeroes"));
    for fixed in ["5.15", "6.2", "6.12"] {
        assert!(!quirks(fixed).contains("unflushed-zeroes"), "{fixed}");
    }
}

#[test]
fn every_part_is_there_for_people_too() {
    for platform in ["jsl", "dg2", "i965g", "mtl"] {
        let text = gemtool(&format!("info --device sim:{platform}")).held();
        fits(&text, 100);
        for part in ["Capabilities", "Map modes", "Memory regions", "Quirks", "Cache operations", "GETPARAM"]
        {
            assert!(text.contains(part), "{platform}: {part}");
        }
    }
}
