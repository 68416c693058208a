//! Passes: their order, and the IR before and after each.

use gem_shader_compiler::{CompiledShader, Features, Moment, Options, Pass, Shader, Stage};
use intel_eu::Platform;

const PLATFORM: Platform = Platform::Skl;

/// Compiles `control.comp`; returns the compiled shader, and what was observed.
fn observed(options: &Options) -> (CompiledShader, Vec<(Pass, Moment, String)>) {
    let mut seen = Vec::new();
    let observe = |pass, moment, ir: &dyn std::fmt::Display| seen.push((pass, moment, format!("{ir}")));
    let compiled = shader().compile_observed(PLATFORM, options, observe).unwrap();
    (compiled, seen)
}

fn shader() -> Shader {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/control.spv");
    let mut shader = Shader::read(&std::fs::read(path).unwrap()).unwrap();
    shader.specialize("main", Stage::Compute, &[], &Features::of(PLATFORM)).unwrap();
    shader
}

/// Returns the passes that ran, in their order.
fn passes(seen: &[(Pass, Moment, String)]) -> Vec<&'static str> {
    seen.iter().filter(|one| one.1 == Moment::After).map(|one| one.0.name()).collect()
}

#[test]
fn each_pass_is_observed_before_and_after_it_and_the_compiled_shader_is_the_same() {
    let options = Options::default();
    let (compiled, seen) = observed(&options);
    assert_eq!(compiled, shader().compile(PLATFORM, &options).unwrap());
    let order = [
        "opt_forward_stores",
        "opt_algebraic",
        "opt_dce",
        "hoist_discard",
        "lower_inputs",
        "lower_discard",
        "structurize_exits",
        "opt_forward_stores",
        "opt_algebraic",
        "opt_dce",
        "lower_alu",
        "select",
        "legalize",
        "opt_copy_prop",
    ];
    assert_eq!(passes(&seen), order);
    for pair in seen.chunks(2) {
        let [before, after] = pair else { panic!("a pass is observed twice") };
        assert_eq!((before.0, before.1, after.1), (after.0, Moment::Before, Moment::After));
    }
    for pair in seen[1..].chunks_exact(2) {
        assert_eq!(pair[0].2, pair[1].2, "{} finds what {} leaves", pair[1].0, pair[0].0);
    }
}

#[test]
fn ends_that_are_kept_are_not_hoisted() {
    let (_, seen) = observed(&Options { hoist_discard: false });
    assert!(!passes(&seen).contains(&"hoist_discard"));
}

#[test]
fn passes_do_what_their_names_say() {
    let (_, seen) = observed(&Options::default());
    let text = |pass, moment| &seen.iter().find(|one| (one.0, one.1) == (pass, moment)).unwrap().2;
    let count = |pass, moment, part: &str| text(pass, moment).matches(part).count();
    let (before, after) = (Moment::Before, Moment::After);
    for (pass, part) in [
        (Pass::OptForwardStores, "load_var"),
        (Pass::OptDce, "store_var"),
        (Pass::LowerInputs, "workgroup_id"),
        (Pass::StructurizeExits, "continue s"),
    ] {
        let [was, is] = [before, after].map(|moment| count(pass, moment, part));
        assert!(is < was, "{pass}: {is} of {was} {part}");
    }
    assert_eq!(count(Pass::LowerInputs, after, "workgroup_id"), 0);
    assert_eq!(count(Pass::StructurizeExits, after, "continue s"), 0);
    // A program before the selection, a function of the machine after it.
    assert!(text(Pass::Select, before).starts_with("group 8x2x1\n"));
    assert!(text(Pass::Select, after).contains(" = add (16|M0) %"));
}

#[test]
fn a_pass_has_a_name_and_another_name_is_refused_with_those_that_there_are() {
    for pass in Pass::ALL {
        assert_eq!(pass.name().parse(), Ok(*pass));
    }
    let refused = "opt_cse".parse::<Pass>().unwrap_err().to_string();
    assert!(
        refused.starts_with("there is no pass 'opt_cse'; the passes are opt_forward_stores, "),
        "{refused}"
    );
    assert!(refused.ends_with(", opt_copy_prop"), "{refused}");
}
