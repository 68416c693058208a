//! Prints `crates/capi/include/gem_coherency.h`, made by cbindgen from the files of `crates/capi/src` in the order that they are given.
//!
//! `header-tool FILE...`

use std::path::PathBuf;
use std::process::ExitCode;

use cbindgen::{
    Braces, Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, FunctionConfig, Language,
};

/// What the header starts with.
const HEAD: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency: cache coherency of GEM buffer objects on Intel GPUs.
 *
 * Made by cbindgen from crates/capi/src; ci/header --write makes it anew.
 * What the functions have in common (errors, threads, ownership) stands in docs/c-api.md. */";

fn config() -> Config {
    Config {
        header: Some(HEAD.to_owned()),
        include_guard: Some("GEM_COHERENCY_H".to_owned()),
        no_includes: true,
        sys_includes: ["stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        language: Language::C,
        cpp_compat: true,
        braces: Braces::SameLine,
        line_length: 120,
        tab_width: 4,
        documentation_style: DocumentationStyle::Doxy,
        // Types that no signature names: enums cross as integers, which may hold anything.
        export: ExportConfig {
            include: [
                "gemco_access_kind",
                "gemco_caching",
                "gemco_caps",
                "gemco_level",
                "gemco_log_level",
                "gemco_map_mode",
                "gemco_mocs",
                "gemco_path",
                "gemco_step",
                "gemco_upload_hint",
                "gemco_verdict",
            ]
            .map(str::to_owned)
            .to_vec(),
            ..ExportConfig::default()
        },
        enumeration: EnumConfig { prefix_with_name: false, ..EnumConfig::default() },
        function: FunctionConfig { no_return: None, ..FunctionConfig::default() },
        usize_is_size_t: true,
        ..Config::default()
    }
}

/// The header without what the comments say under `# Safety`: it is for Rust, and docs/c-api.md says it for C.
fn without_safety(header: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_safety = false;
    for line in header.lines() {
        if line.trim_start() == "* # Safety" {
            is_safety = true;
            // The empty line above.
            lines.pop_if(|last| last.trim() == "*");
        }
        is_safety &= line.trim() != "*/";
        if !is_safety {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

fn main() -> ExitCode {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        eprintln!("usage: header-tool FILE...");
        return ExitCode::from(2);
    }
    let builder =
        files.iter().fold(Builder::new().with_config(config()), |builder, file| builder.with_src(file));
    match builder.generate() {
        Ok(bindings) => {
            let mut header = Vec::new();
            bindings.write(&mut header);
            print!("{}", without_safety(&String::from_utf8_lossy(&header)));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
