//! The size of a dispatch, as text.

use std::fmt;
use std::str::FromStr;

use gem_shader_compiler::Stage;

use crate::numbers::dword;

/// Groups of a compute shader in three directions. The text is `X`, `X,Y` or `X,Y,Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups(pub [u32; 3]);

/// Pixels of a fragment shader. The text is `WIDTHxHEIGHT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// The reason why a shader cannot be dispatched with a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoExtent {
    /// A compute shader has groups, and pixels are given.
    Compute,
    /// A fragment shader has pixels, and groups are given.
    Fragment,
    /// A fragment shader has pixels, and none are given.
    Missing,
}

impl fmt::Display for NoExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compute => "the shader is a compute shader: give groups instead of an extent",
            Self::Fragment => "the shader is a fragment shader: give an extent (64x32) instead of groups",
            Self::Missing => "a fragment shader needs an extent: WIDTHxHEIGHT (64x32)",
        })
    }
}

impl std::error::Error for NoExtent {}

/// Returns the extent of a dispatch: groups of a compute shader, one by default; width and height of a fragment shader, and 1.
///
/// # Errors
/// Groups for a fragment shader, a rectangle for a compute shader, or a fragment shader without one.
pub fn extent(stage: Stage, groups: Option<Groups>, extent: Option<Extent>) -> Result<[u32; 3], NoExtent> {
    match (stage, groups, extent) {
        (Stage::Compute, groups, None) => Ok(groups.map_or([1; 3], |groups| groups.0)),
        (Stage::Fragment, None, Some(Extent { width, height })) => Ok([width, height, 1]),
        (Stage::Compute, _, Some(_)) => Err(NoExtent::Compute),
        (Stage::Fragment, Some(_), _) => Err(NoExtent::Fragment),
        (Stage::Fragment, None, None) => Err(NoExtent::Missing),
    }
}

impl FromStr for Groups {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Vec<_> = text.split(',').map(dword).collect::<Result<_, _>>()?;
        match *numbers {
            [x] => Ok(Self([x, 1, 1])),
            [x, y] => Ok(Self([x, y, 1])),
            [x, y, z] => Ok(Self([x, y, z])),
            _ => Err(format!("{} numbers: X, X,Y or X,Y,Z", numbers.len())),
        }
    }
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (width, height) = text.split_once('x').ok_or("no WIDTHxHEIGHT (64x32)")?;
        Ok(Self { width: dword(width)?, height: dword(height)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_up_to_three_numbers_and_an_extent_has_two() {
        assert_eq!("4".parse(), Ok(Groups([4, 1, 1])));
        assert_eq!("4,2".parse(), Ok(Groups([4, 2, 1])));
        assert_eq!("4,2,3".parse(), Ok(Groups([4, 2, 3])));
        assert_eq!("64x32".parse(), Ok(Extent { width: 64, height: 32 }));
        for text in ["", "4,", "1,2,3,4", "-1", "4x4"] {
            assert!(text.parse::<Groups>().is_err(), "{text}");
        }
        for text in ["", "64", "64x", "x32", "64x32x1", "64,32"] {
            assert!(text.parse::<Extent>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_stage_has_a_size_of_its_own() {
        let (groups, pixels) = (Some(Groups([4, 2, 1])), Some(Extent { width: 64, height: 32 }));
        assert_eq!(extent(Stage::Compute, groups, None), Ok([4, 2, 1]));
        assert_eq!(extent(Stage::Compute, None, None), Ok([1; 3]));
        assert_eq!(extent(Stage::Fragment, None, pixels), Ok([64, 32, 1]));
        assert_eq!(extent(Stage::Compute, None, pixels), Err(NoExtent::Compute));
        assert_eq!(extent(Stage::Fragment, groups, pixels), Err(NoExtent::Fragment));
        assert_eq!(extent(Stage::Fragment, None, None), Err(NoExtent::Missing));
    }
}
