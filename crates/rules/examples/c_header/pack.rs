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

/// Returns numbers as the elements of an array in C, in lines of at most 110 columns.
pub fn elements(numbers: impl Iterator<Item = usize>) -> String {
    let mut text = String::new();
    let mut width = 0;
    for number in numbers {
        let element = format!("{number},");
        if width == 0 || width + 1 + element.len() > 110 {
            text.push_str(if text.is_empty() { "    " } else { "\n    " });
            width = 4;
        } else {
            text.push(' ');
            width += 1;
        }
        text.push_str(&element);
        width += element.len();
    }
    text
}
