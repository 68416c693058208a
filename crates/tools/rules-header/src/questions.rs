//! The decisions, by capabilities and question.

use gem_coherency_policy::platform::Caps;
use gem_coherency_policy::policy::{Decision, Path, Rule, needs_flush, needs_invalidate};
use gem_coherency_policy::vocabulary::{Access, CacheLevel};

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
    /// For each level and writer, the rows of the two questions.
    tables: Distinct<Vec<[usize; 2]>>,
    /// The index of the table of each set of capabilities.
    table_of: Vec<usize>,
}

impl Questions {
    /// Asks both questions about every set of capabilities in `all`.
    pub fn of(all: &[Caps]) -> Self {
        let mut questions = Self {
            rules: Distinct::new(),
            decisions: Distinct::new(),
            rows: Distinct::new(),
            tables: Distinct::new(),
            table_of: Vec::new(),
        };
        for &caps in all {
            let mut table = Vec::new();
            for &level in CacheLevel::ALL {
                for &writer in Path::ALL {
                    let rows = [needs_flush as Question, needs_invalidate].map(|question| {
                        questions.row(|next, access| question(caps, level, writer, next, access))
                    });
                    table.push(rows);
                }
            }
            let index = questions.tables.index(table);
            questions.table_of.push(index);
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

    /// Returns the index of the table of decisions of each set of capabilities.
    pub fn table_of(&self) -> &[usize] {
        &self.table_of
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
            "/* Indices of gemcr_rows, by table, level and writer: for a flush, and for an invalidate. */"
        );
        println!("static const uint8_t gemcr_row_of[][2] = {{");
        for rows in self.tables.values().iter().flat_map(|table| table.chunks(Path::ALL.len())) {
            println!("{}", elements(rows.iter().map(|row| list(row))));
        }
        println!("}};\n");
    }
}
