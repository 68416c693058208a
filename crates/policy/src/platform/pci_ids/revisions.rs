//! PCI revisions of the last production steppings.
//!
//! Source: the last entry of each table of `intel_step.c`, from graphics 9 on; before, and for Meteor Lake, what lspci(8) lists of machines.

use crate::platform::table::*;
use crate::platform::{DeviceId, Platform, row_by_id};

/// The platforms and revisions of which the PCI ID does not matter.
static REVISIONS: [(&Platform, u8); 35] = [
    (&I830, 0x04),
    (&I845G, 0x03),
    (&I85X, 0x02),
    (&I865G, 0x02),
    (&I915G, 0x04),
    (&I915GM, 0x03),
    (&I945G, 0x02),
    (&I945GM, 0x03),
    (&G33, 0x02),
    (&PNV, 0x02),
    (&I965G, 0x02),
    (&I965GM, 0x0c),
    (&G45, 0x03),
    (&GM45, 0x07),
    (&ILK, 0x18),
    (&SNB, 0x09),
    (&IVB, 0x09),
    (&VLV, 0x0e),
    (&HSW, 0x06),
    (&BDW, 0x09),
    (&CHV, 0x36),
    (&SKL, 0x0a),
    (&BXT, 0x0d),
    (&GLK, 0x03),
    (&KBL, 0x07),
    (&CFL, 0x02),
    (&CML, 0x05),
    (&ICL, 0x07),
    (&EHL, 0x01),
    (&JSL, 0x01),
    (&RKL, 0x04),
    (&ADLS, 0x0c),
    (&ADLP, 0x0c),
    (&DG1, 0x01),
    (&MTL, 0x08),
];

/// Tiger Lakes with one more pair of steppings (`INTEL_TGL_GT2_IDS`, `tgl_uy_revids`), and the others (`tgl_revids`).
const TGL_UY: u8 = 0x03;
const TGL_OTHERS: u8 = 0x01;
/// The dies of DG2 (`dg2_g10_revid_step_tbl` and the following ones).
const DIES: [(&str, u8); 3] = [("G10", 0x08), ("G11", 0x05), ("G12", 0x01)];

impl Platform {
    /// Returns the PCI revision of the last production stepping that has a PCI ID; 0 for an ID of no platform.
    pub fn production_revision(id: u16) -> u8 {
        let Ok(DeviceId { platform, gt, .. }) = row_by_id(id) else { return 0 };
        if let Some((_, revision)) = REVISIONS.iter().find(|(known, _)| known == platform) {
            return *revision;
        }
        if *platform == &TGL {
            return if *gt == "GT2" { TGL_UY } else { TGL_OTHERS };
        }
        DIES.iter().find(|(die, _)| gt.contains(die)).map_or(0, |(_, revision)| *revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::ids;

    #[test]
    fn each_id_has_the_revision_of_its_die() {
        let revisions = [0x4e61, 0x9a49, 0x9a60, 0x56a0, 0x5693, 0x56a5, 0x56a3, 0x56c0, 0x56c1, 0x7d55];
        let revisions = revisions.map(Platform::production_revision);
        assert_eq!(revisions, [0x01, 0x03, 0x01, 0x08, 0x05, 0x05, 0x01, 0x08, 0x05, 0x08]);
        // Revision 0 is the first stepping of every platform.
        assert!(ids().iter().all(|row| Platform::production_revision(row.id) != 0));
        assert_eq!(Platform::production_revision(0xffff), 0);
    }
}
