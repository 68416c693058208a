//! Mutants of the validator's table: another scope in the place of a rule's.

use super::{Mutant, Planted};

/// Each scope, and those that are one step wider or narrower.
const NEIGHBOURS: &[(&str, &[&str])] = &[
    ("Any", &["Operations", "Messages"]),
    ("Operations", &["Any", "Basic", "Three"]),
    ("Basic", &["Operations", "Align1", "Align16", "Channels", "WideOrFloat"]),
    ("Channels", &["Basic", "Wide"]),
    ("Align1", &["Basic", "Channels", "Mixed1"]),
    ("Align16", &["Basic", "Mixed16"]),
    ("Three", &["Operations"]),
    ("Mixed", &["Basic", "Mixed1", "Mixed16"]),
    ("Mixed1", &["Mixed", "Align1"]),
    ("Mixed16", &["Mixed", "Align16"]),
    ("Wide", &["WideOrFloat", "Basic"]),
    ("WideOrFloat", &["Wide", "Basic"]),
    ("Messages", &["Any", "Send", "SplitSend"]),
    ("Send", &["Messages"]),
    ("SplitSend", &["Messages"]),
];

/// The scopes of a rule that is for some opcodes.
const OF_OPCODES: &[&str] = &["Any"];

/// Chooses between values. It follows [`super::SELECTOR`] in its file.
pub const SELECTOR_OF_SCOPES: &str = r#"
/// The value, or one of the others (`first`, and the numbers after it).
pub(crate) fn pick<T: Copy>(first: u32, usual: T, others: &[T]) -> T {
    (first..).zip(others).find(|(number, _)| is(*number)).map_or(usual, |(_, other)| *other)
}
"#;

/// A scope is computed when it is asked for: what the table's file says, and what it is to say.
const AT_RUN_TIME: [(&str, &str); 2] =
    [("pub scope: Scope,", "pub scope: fn() -> Scope,"), ("scope: $scope,", "scope: || $scope,")];

/// The same, of the table's use.
pub const USE_AT_RUN_TIME: (&str, &str) = ("row.scope.includes", "(row.scope)().includes");

/// Plants the mutants of the table in the file `name`, numbered from `first` on.
///
/// # Errors
/// A text without the table.
pub fn plant_table(name: &str, text: &str, first: u32) -> Result<Planted, String> {
    let mut planted = Planted { text: String::new(), mutants: Vec::new() };
    for line in text.split_inclusive('\n') {
        let Some((rule, before, scope, after)) = row(line) else {
            planted.text += line;
            continue;
        };
        let neighbours = NEIGHBOURS.iter().find(|row| row.0 == scope).map_or(OF_OPCODES, |row| row.1);
        let number = first + planted.mutants.len() as u32;
        let others = neighbours.join(", ");
        planted.text += &format!("{before}crate::mutant::pick({number}, {scope}, &[{others}]){after}");
        planted.mutants.extend(neighbours.iter().map(|other| Mutant {
            place: format!("{name} {rule}"),
            change: format!("`{scope}`: `{other}`"),
        }));
    }
    for (from, to) in AT_RUN_TIME {
        planted.text = replaced(&planted.text, from, to)?;
    }
    if planted.mutants.is_empty() {
        return Err(format!("{name}: no rows"));
    }
    Ok(planted)
}

/// Replaces a text that is there once.
///
/// # Errors
/// It is absent, or there more than once.
pub fn replaced(text: &str, from: &str, to: &str) -> Result<String, String> {
    match text.matches(from).count() {
        1 => Ok(text.replace(from, to)),
        count => Err(format!("`{from}` is there {count} times")),
    }
}

/// Returns the rule of a row, the text before its scope, the scope, and what follows: `Rule On, Scope, Check(...), ...`.
fn row(line: &str) -> Option<(&str, &str, &str, &str)> {
    let check = line.find(", To")?;
    let (head, after) = line.split_at(check);
    let (rule, rest) = head.trim_start().split_once(' ')?;
    let (_, scope) = rest.split_once(", ")?;
    let before = &head[..head.len() - scope.len()];
    Some((rule, before, scope, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "pub scope: Scope,\nscope: $scope,\nrules! {\n        Width All, Align1, ToSources(f), \"text\";\n        \
                         Send From(80), Of(&[Opcode::A, Opcode::B]), ToAll(g),\n            \"text\";\n}\n";

    #[test]
    fn each_row_gets_the_scopes_beside_its_own() {
        let planted = plant_table("rule.rs", TABLE, 7).unwrap();
        let changes: Vec<_> =
            planted.mutants.iter().map(|one| format!("{}: {}", one.place, one.change)).collect();
        let expected = [
            "rule.rs Width: `Align1`: `Basic`",
            "rule.rs Width: `Align1`: `Channels`",
            "rule.rs Width: `Align1`: `Mixed1`",
            "rule.rs Send: `Of(&[Opcode::A, Opcode::B])`: `Any`",
        ];
        assert_eq!(changes, expected);
        for part in [
            "Width All, crate::mutant::pick(7, Align1, &[Basic, Channels, Mixed1]), ToSources(f), \"text\";",
            "Send From(80), crate::mutant::pick(10, Of(&[Opcode::A, Opcode::B]), &[Any]), ToAll(g),\n",
            "scope: || $scope,",
        ] {
            assert!(planted.text.contains(part), "{}", planted.text);
        }
    }

    #[test]
    fn a_text_without_the_table_is_an_error() {
        assert!(plant_table("rule.rs", "pub scope: Scope,\nscope: $scope,\n", 1).is_err());
        assert!(plant_table("rule.rs", &TABLE.replace("scope: $scope,", ""), 1).is_err());
    }
}
