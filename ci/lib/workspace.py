"""The crates of the repository, as Cargo knows them. Fails if a published one lacks a licence, or if a judge depends on what it judges;
`--published` prints the published ones, `--oldest` the oldest `rust-version` and the published packages that name it."""

import json
import subprocess
import sys
from pathlib import Path

import seeds

# Packages that judge others, and those that they must not depend on, not even in tests: what judges shares no code with what is judged.
REFUSED = {"i915-vm-device": {"gem-coherency-memory-model", "gem-coherency-policy", "gem-coherency-sim"}}
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


def manifests(root):
    """Every Cargo.toml that is, or would be, committed, from the root."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "Cargo.toml", "*/Cargo.toml"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split()
    return sorted(name for name in set(names) if (root / name).is_file())


def metadata(root, manifest="Cargo.toml"):
    """What `cargo metadata` says of the workspace that `manifest` belongs to, without dependencies."""
    said = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout
    return json.loads(said)


def packages(root):
    """Every package of the repository, also of workspaces of their own, by the folder of its manifest from the root."""
    found, base = {}, root.resolve()
    for manifest in manifests(root):
        if manifest not in found:
            found |= {str(Path(package["manifest_path"]).relative_to(base)): package
                      for package in metadata(root, manifest)["packages"]}
    return {str(Path(manifest).parent): package for manifest, package in sorted(found.items())}


def published(root):
    """The packages of the root's workspace that are published: (name, version, manifest from the root)."""
    base = root.resolve()
    return [(package["name"], package["version"], str(Path(package["manifest_path"]).relative_to(base)))
            for package in metadata(root)["packages"] if package["publish"] != []]


def oldest(root):
    """The oldest `rust-version` of the published packages, and the packages that name it."""
    versions = {}
    for package in metadata(root)["packages"]:
        if package["publish"] != []:
            versions.setdefault(package["rust_version"], []).append(package["name"])
    version = min(versions, key=lambda version: [int(number) for number in version.split(".")])
    return version, sorted(versions[version])


def violations(root):
    """Which published packages lack a licence, or have another than the root's, and how many there are."""
    crates = published(root)
    wrong = []
    for name, _, manifest in crates:
        for licence in LICENCES:
            file = (root / manifest).parent / licence
            if not file.is_file() or file.read_text() != (root / licence).read_text():
                wrong.append(f"{name}: {file.relative_to(root)} is missing, or not {licence}")
    for folder, package in packages(root).items():
        for dependency in package["dependencies"]:
            if {dependency["name"], dependency["rename"]} & REFUSED.get(package["name"], set()):
                wrong.append(f"{folder}: {package['name']} depends on {dependency['rename'] or dependency['name']}, which it judges")
    return wrong, len(crates)


def manifest(name, more=""):
    """A manifest for the trees of self-tests."""
    return f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n{more}'


CLEAN = {
    "Cargo.toml": manifest("whole", '[workspace]\nmembers = ["crates/room/deep", "private"]\n'),
    "src/lib.rs": "",
    "crates/room/deep/Cargo.toml": manifest("deep"),
    "crates/room/deep/src/lib.rs": "",
    "private/Cargo.toml": manifest("private", "publish = false\n"),
    "private/src/lib.rs": "",
} | {f"{folder}{licence}": licence for folder in ("", "crates/room/deep/") for licence in LICENCES}
SEEDS = {
    "a licence of another text two levels down": ("crates/room/deep/LICENSE-MIT", ""),
    "a published crate without a licence": ("private/Cargo.toml", manifest("private")),
    "a judge that depends on what it judges": (
        "private/Cargo.toml",
        manifest("i915-vm-device", 'publish = false\n[dev-dependencies]\ngem-coherency-sim = { path = "../crates/room/deep", package = "deep" }\n'),
    ),
}


if __name__ == "__main__":
    if sys.argv[1:] == ["--published"]:
        for crate in published(Path(".")):
            print(*crate)
    elif sys.argv[1:] == ["--oldest"]:
        version, names = oldest(Path("."))
        print(version, *names)
    else:
        seeds.main(violations, CLEAN, SEEDS, "published crates have both licences, and no judge depends on what it judges")
