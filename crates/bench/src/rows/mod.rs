//! The rows of the benchmark, by name.

mod c_calls;
mod constant;
mod crossover;
mod flush;
mod frames;
mod reuse;
mod small;
mod submit;
mod threads;
mod upload;
mod writes;

use super::Context;
use super::report::Found;
use crate::failure::Failure;

/// A measurement that yields several lines of the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// The name on the command line.
    pub name: &'static str,
    /// Runs the measurement.
    pub run: fn(&Context, &mut Found) -> Result<(), Failure>,
}

/// Every row, in the table's order.
const ROWS: [Row; 14] = [
    Row { name: flush::NAME, run: flush::run },
    Row { name: small::NAME, run: small::run },
    Row { name: writes::NAME, run: writes::run },
    Row { name: submit::NAME, run: submit::run },
    Row { name: frames::BATCH_BUFFER, run: frames::batch_buffer },
    Row { name: frames::DESCRIPTOR_HEAP, run: frames::descriptor_heap },
    Row { name: frames::UPLOAD_RING, run: frames::upload_ring },
    Row { name: frames::FRAME, run: frames::whole_frame },
    Row { name: upload::NAME, run: upload::run },
    Row { name: c_calls::NAME, run: c_calls::run },
    Row { name: constant::NAME, run: constant::run },
    Row { name: reuse::NAME, run: reuse::run },
    Row { name: threads::NAME, run: threads::run },
    Row { name: crossover::NAME, run: crossover::run },
];

/// The names of the rows, for messages.
const NAMES: &str = "flush, small-updates, writes, submit, batch-buffer, descriptor-heap, upload-ring, frame, \
    upload, c-interface, constant, reuse, threads, crossover";

/// Returns the rows of `names`, or all if it is empty.
///
/// # Errors
/// A message with the unknown name and the known ones.
pub fn chosen(names: &[String]) -> Result<Vec<Row>, String> {
    if names.is_empty() {
        return Ok(ROWS.to_vec());
    }
    let find = |name: &String| {
        let row = ROWS.iter().find(|row| row.name == *name).copied();
        row.ok_or_else(|| format!("unknown row '{name}' (known: {NAMES})"))
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    #[test]
    fn the_list_of_names_is_that_of_the_rows() {
        let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.join(", "), NAMES);
        let gemtool = Args::command();
        let help = gemtool.find_subcommand("bench").unwrap().get_after_help().unwrap().to_string();
        let words: Vec<_> = help.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("Rows: {NAMES}.")), "{help}");
    }

    #[test]
    fn without_names_every_row_is_chosen_and_an_unknown_one_is_named() {
        assert_eq!(chosen(&[]).map(|rows| rows.len()).unwrap(), ROWS.len());
        let rows = chosen(&["submit".to_owned(), "flush".to_owned()]).unwrap();
        assert_eq!(rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["submit", "flush"]);
        let error = chosen(&["flush".to_owned(), "speed".to_owned()]).err().unwrap();
        assert!(error.contains("'speed'") && error.contains("small-updates"), "{error}");
    }
}
