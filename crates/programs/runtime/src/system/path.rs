//! A path in a buffer of its own: nothing is allocated.

/// Most bytes of a path.
pub(crate) const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// A path in a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    bytes: [u8; PATH_BYTES],
    len: usize,
}

impl Path {
    pub(crate) const EMPTY: Self = Self { bytes: [0; PATH_BYTES], len: 0 };

    /// Adds bytes; returns whether there was room for them and the final zero.
    pub(crate) fn push(&mut self, more: &[u8]) -> bool {
        let end = self.len + more.len();
        match self.bytes.get_mut(self.len..end) {
            Some(room) if end < PATH_BYTES => {
                room.copy_from_slice(more);
                self.len = end;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Removes the last name.
    pub(crate) fn pop(&mut self) {
        let slash = self.as_bytes().iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        if let Some(rest) = self.bytes.get_mut(slash..self.len) {
            rest.fill(0);
        }
        self.len = slash;
    }

    /// Returns the path, without the final zero.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Returns the path as a C string.
    pub(crate) fn as_ptr(&self) -> *const std::ffi::c_char {
        self.bytes.as_ptr().cast()
    }
}
