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

use crate::context::Context;
use crate::error::Error;
use crate::report::Found;

/// A measurement that yields several lines of the table.
#[derive(Clone, Copy)]
pub struct Row {
    /// The name on the command line.
    pub name: &'static str,
    /// Runs the measurement.
    pub run: fn(&Context, &mut Found) -> Result<(), Error>,
}

/// Every row, in the table's order.
const ROWS: [Row; 15] = [
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
    Row { name: c_calls::DRIVER_LOOP, run: c_calls::driver_loop },
    Row { name: constant::NAME, run: constant::run },
    Row { name: reuse::NAME, run: reuse::run },
    Row { name: threads::NAME, run: threads::run },
    Row { name: crossover::NAME, run: crossover::run },
];

/// Returns the rows of `names`, or all if it is empty.
///
/// # Errors
/// [`Error::UnknownRow`].
pub fn chosen(names: &[String]) -> Result<Vec<Row>, Error> {
    if names.is_empty() {
        return Ok(ROWS.to_vec());
    }
    let find = |name: &String| {
        let row = ROWS.iter().find(|row| row.name == *name).copied();
        row.ok_or_else(|| Error::UnknownRow { name: name.clone(), known: row_names().collect() })
    };
    names.iter().map(find).collect()
}

/// Returns the names of the rows, in the table's order.
pub fn row_names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// Returns a size as text: `64 KiB`, `4097 bytes`.
fn size_text(bytes: u64) -> String {
    const UNITS: [(u32, &str); 3] = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = UNITS.iter().find(|(shift, _)| bytes != 0 && bytes.trailing_zeros() >= *shift);
    unit.map_or(format!("{bytes} bytes"), |(shift, name)| format!("{} {name}", bytes >> shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_every_row_is_chosen_and_an_unknown_one_is_named() {
        assert_eq!(chosen(&[]).map(|rows| rows.len()), Ok(ROWS.len()));
        let rows = chosen(&["submit".to_owned(), "flush".to_owned()]).unwrap();
        assert_eq!(rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["submit", "flush"]);
        let error = chosen(&["flush".to_owned(), "speed".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("'speed'") && error.contains("small-updates"), "{error}");
    }

    #[test]
    fn a_size_is_in_the_largest_unit_that_divides_it() {
        let texts = [64, 4 << 10, 5 << 20, 1 << 30].map(size_text);
        assert_eq!(texts, ["64 bytes", "4 KiB", "5 MiB", "1 GiB"]);
    }
}
