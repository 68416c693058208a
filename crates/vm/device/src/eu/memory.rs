//! The memory that messages of threads access.

/// The surfaces of a shader's bindings.
pub trait Memory {
    /// Reads from a buffer; after its end there are zeros.
    fn read(&mut self, binding: u8, offset: u64, bytes: &mut [u8]) -> Result<(), String>;

    /// Writes to a buffer; what is after its end is dropped.
    fn write(&mut self, binding: u8, offset: u64, bytes: &[u8]) -> Result<(), String>;

    /// Reads from line `y` of a picture, from byte `x` on.
    fn read_line(&mut self, binding: u8, place: [u64; 2], bytes: &mut [u8]) -> Result<(), String>;

    /// Writes to line `y` of a picture, from byte `x` on; what is not in the picture is dropped.
    fn write_line(&mut self, binding: u8, place: [u64; 2], bytes: &[u8]) -> Result<(), String>;
}
