//! The decisions, by capabilities and question.

use gem_coherency_rules::platform::Caps;
use gem_coherency_rules::policy::{Decision, Path, Rule, needs_flush, needs_invalidate};
use gem_coherency_rules::vocabulary::{Access, CacheLevel};

use super::pack::{Distinct, elements, list};

/// One of the two questions: flush or invalidate.
type Question = fn(Caps, CacheLevel, Path, Path, Access) -> Decision;

/// The answers to both questions for sets of capabilities.
///
/// A row holds the decisions about one level and writer, for every next path and access. Most rows occur many
/// times, so they are stored once.
pub struct Questions {
    rules: Distinct<Rule>,
    decisions: Distinct<Decision>,
    rows: Distinct<Vec<usize>>,
    /// For each set of capabilities, level and writer: the rows of the two questions.
    index: Vec<[usize; 2]>,
}

impl Questions {
    /// Asks both questions about every set of capabilities in `all`.
    pub fn of(all: &[Caps]) -> Self {
        let mut questions = Self {
            rules: Distinct::new(),
            decisions: Distinct::new(),
            rows: Distinct::new(),
            index: Vec::new(),
        };
        for &caps in all {
            for &level in CacheLevel::ALL {
                for &writer in Path::ALL {
                    let rows = [needs_flush as Question, needs_invalidate].map(|question| {
                        questions.row(|next, access| question(caps, level, writer, next, access))
                    });
                    questions.index.push(rows);
                }
            }
        }
        questions
    }

    /// Returns the index of the row with these decisions.
    fn row(&mut self, decide: impl Fn(Path, Access) -> Decision) -> usize {
        let mut row = Vec::new();
        for &next in Path::ALL {
            for &access in Access::ALL {
                let decision = decide(next, access);
                self.rules.index(decision.rule);
                row.push(self.decisions.index(decision));
            }
        }
        self.rows.index(row)
    }

    /// Returns the rules of all decisions.
    pub fn rules(&self) -> &[Rule] {
        self.rules.values()
    }

    /// Prints the tables.
    pub fn print(&self) {
        let rule = |decision: &Decision| self.rules().iter().position(|rule| *rule == decision.rule);
        println!("static const struct {{ uint8_t verdict, rule; }} gemcr_decisions[] = {{");
        for decision in self.decisions.values() {
            let (verdict, rule) = (decision.verdict as usize, rule(decision).unwrap_or_default());
            println!(
                "    {{ {verdict}, {rule} }}, /* {}, {} */",
                decision.verdict.name(),
                decision.rule.name()
            );
        }
        println!("}};\n");
        let columns = Path::ALL.len() * Access::ALL.len();
        println!("/* Indices of gemcr_decisions, by next path and access. */");
        println!("static const uint8_t gemcr_rows[][{columns}] = {{");
        for row in self.rows.values() {
            println!("    {},", list(row));
        }
        println!("}};\n");
        println!(
            "/* Indices of gemcr_rows, by capabilities, level and writer: for a flush, and for an invalidate. */"
        );
        println!("static const uint8_t gemcr_row_of[][2] = {{");
        for rows in self.index.chunks(Path::ALL.len()) {
            println!("{}", elements(rows.iter().map(|row| list(row))));
        }
        println!("}};\n");
    }
}
