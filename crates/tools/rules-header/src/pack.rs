//! Sets of values that occur several times, and arrays in C.

/// Different values, in order of their first occurrence.
pub struct Distinct<T>(Vec<T>);

impl<T: PartialEq> Distinct<T> {
    /// Creates the empty set.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the index of `value`, after adding it if it is new.
    pub fn index(&mut self, value: T) -> usize {
        match self.0.iter().position(|known| *known == value) {
            Some(index) => index,
            None => {
                self.0.push(value);
                self.0.len() - 1
            }
        }
    }

    /// Returns the values.
    pub fn values(&self) -> &[T] {
        &self.0
    }
}

/// Returns the elements of an array in C, in indented lines of at most 110 columns.
pub fn elements<T: ToString>(elements: impl Iterator<Item = T>) -> String {
    let mut lines = vec![String::new()];
    for element in elements {
        let element = format!("{},", element.to_string());
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = format!("    {element}"),
            Some(line) if line.len() + 1 + element.len() <= 110 => *line += &format!(" {element}"),
            _ => lines.push(format!("    {element}")),
        }
    }
    lines.join("\n")
}

/// Returns numbers as an array within a line.
pub fn list(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("{{ {} }}", numbers.join(", "))
}
