//! Implements [`Display`] on primary nodes.
//!
//! The requests are DRM's own, the same under each driver. A driver's node adds what it records of a dumb object ([`DisplayNode`]).

use std::fmt;

use super::card::Card;
use super::objects;
use super::request::call;
use crate::backend::Created;
use crate::backend::display::{
    Connection, Connector, Crtc, Display, Framebuffer, Mode, Picture, Port, Resources, Shown, preferred_first,
};
use crate::error::{Error, Result};
use crate::vocabulary::Handle;
use gem_coherency_uapi::drm_display::{
    DRM_IOCTL_MODE_ADDFB2, DRM_IOCTL_MODE_CREATE_DUMB, DRM_IOCTL_MODE_CURSOR, DRM_IOCTL_MODE_DIRTYFB,
    DRM_IOCTL_MODE_GETCONNECTOR, DRM_IOCTL_MODE_GETCRTC, DRM_IOCTL_MODE_GETENCODER,
    DRM_IOCTL_MODE_GETRESOURCES, DRM_IOCTL_MODE_PAGE_FLIP, DRM_IOCTL_MODE_RMFB, DRM_IOCTL_MODE_SETCRTC,
    DRM_MODE_CURSOR_BO, DRM_MODE_CURSOR_MOVE, DRM_MODE_PAGE_FLIP_EVENT, drm_mode_card_res,
    drm_mode_create_dumb, drm_mode_crtc, drm_mode_crtc_page_flip, drm_mode_cursor, drm_mode_fb_cmd2,
    drm_mode_fb_dirty_cmd, drm_mode_get_connector, drm_mode_get_encoder, drm_mode_modeinfo,
};
use gem_coherency_uapi::drm_fourcc::DRM_FORMAT_XRGB8888;

const XRGB8888_BITS: u32 = 32;

/// A connector's lists: its encoders, and the modes of the connected screen.
struct Lists {
    encoders: Vec<u32>,
    modes: Vec<drm_mode_modeinfo>,
}

/// A node of a driver that can have a display.
pub(super) trait DisplayNode: Send + Sync + fmt::Debug {
    /// Returns its file.
    fn card(&self) -> &Card;

    /// Records a new object of CREATE_DUMB, as one that is open.
    fn record_dumb(&self, created: Created);

    /// Returns the error of ADDFB2 for an object, with the reason if it is known.
    fn no_framebuffer(&self, handle: Handle, error: Error) -> Error;
}

impl Card {
    /// Returns a connector's kind and number: `DRM_IOCTL_MODE_GETCONNECTOR`, 0xc05064a7.
    ///
    /// # Errors
    /// ENOENT.
    fn connector(&self, id: u32) -> Result<Connector> {
        let args = self.get_connector(id, &mut Lists { encoders: Vec::new(), modes: one_mode() })?;
        Ok(Connector { id, kind: args.connector_type, number: args.connector_type_id })
    }

    /// Fills a connector's lists as far as they have room; the kernel probes the connector if there is no
    /// room for modes: `DRM_IOCTL_MODE_GETCONNECTOR`, 0xc05064a7.
    ///
    /// # Errors
    /// ENOENT.
    fn get_connector(&self, id: u32, lists: &mut Lists) -> Result<drm_mode_get_connector> {
        let mut args = drm_mode_get_connector {
            connector_id: id,
            encoders_ptr: lists.encoders.as_mut_ptr() as u64,
            count_encoders: lists.encoders.len() as u32,
            modes_ptr: lists.modes.as_mut_ptr() as u64,
            count_modes: lists.modes.len() as u32,
            ..Default::default()
        };
        // SAFETY:
        // - `encoders_ptr`, `modes_ptr`: live vectors of as many ids and structs as their counts say,
        //   which are the most that the kernel copies; the other counts are 0;
        // - bit patterns: integers only.
        unsafe { call(self.fd()?, DRM_IOCTL_MODE_GETCONNECTOR, None, &mut args)? };
        Ok(args)
    }

    /// Returns an encoder, which links CRTCs to a connector: `DRM_IOCTL_MODE_GETENCODER`, 0xc01464a6.
    ///
    /// # Errors
    /// ENOENT.
    fn encoder(&self, id: u32) -> Result<drm_mode_get_encoder> {
        let mut args = drm_mode_get_encoder { encoder_id: id, ..Default::default() };
        // SAFETY: no address in it; integers only.
        unsafe { call(self.fd()?, DRM_IOCTL_MODE_GETENCODER, None, &mut args)? };
        Ok(args)
    }

    /// Returns the CRTC that drives a connector.
    fn driven_by(&self, connector: &drm_mode_get_connector) -> Result<Option<Crtc>> {
        match connector.encoder_id {
            0 => Ok(None),
            id => Ok(Some(self.encoder(id)?.crtc_id).filter(|&crtc| crtc != 0).map(Crtc)),
        }
    }

    /// Sets a CRTC's cursor: `DRM_IOCTL_MODE_CURSOR`, 0xc01c64a3.
    fn cursor(&self, args: drm_mode_cursor) -> Result<()> {
        let mut args = args;
        let handle = Some(args.handle).filter(|&handle| handle != 0);
        // SAFETY: no address in it; integers only.
        unsafe { call(self.fd()?, DRM_IOCTL_MODE_CURSOR, handle, &mut args) }
    }

    /// Returns the ids of CRTCs and connectors: `DRM_IOCTL_MODE_GETRESOURCES`, 0xc04064a0.
    fn ids(&self) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut counts = drm_mode_card_res::default();
        // SAFETY: addresses and counts are 0; integers only.
        unsafe { call(self.fd()?, DRM_IOCTL_MODE_GETRESOURCES, None, &mut counts)? };
        let mut crtcs = vec![0_u32; counts.count_crtcs as usize];
        let mut connectors = vec![0_u32; counts.count_connectors as usize];
        let mut args = drm_mode_card_res {
            crtc_id_ptr: crtcs.as_mut_ptr() as u64,
            count_crtcs: counts.count_crtcs,
            connector_id_ptr: connectors.as_mut_ptr() as u64,
            count_connectors: counts.count_connectors,
            ..Default::default()
        };
        // SAFETY:
        // - `crtc_id_ptr`, `connector_id_ptr`: live vectors of as many ids as their counts say, which
        //   are the most that the kernel copies; the other counts are 0;
        // - bit patterns: integers only.
        unsafe { call(self.fd()?, DRM_IOCTL_MODE_GETRESOURCES, None, &mut args)? };
        // Connectors can appear and disappear; CRTCs cannot.
        connectors.truncate(args.count_connectors as usize);
        connectors.retain(|&id| id != 0);
        Ok((crtcs, connectors))
    }
}

/// Returns room for one mode, so that the kernel does not probe.
fn one_mode() -> Vec<drm_mode_modeinfo> {
    vec![drm_mode_modeinfo::default()]
}

/// Converts GETCONNECTOR's `drm_connector_status`.
fn connection(number: u32) -> Connection {
    match number {
        1 => Connection::Connected,
        2 => Connection::Disconnected,
        _ => Connection::Unknown,
    }
}

impl<N: DisplayNode> Display for N {
    fn resources(&self) -> Result<Resources> {
        let card = self.card();
        let (crtcs, connectors) = card.ids()?;
        let connectors = connectors.into_iter().map(|id| card.connector(id)).collect::<Result<_>>()?;
        Ok(Resources { crtcs: crtcs.into_iter().map(Crtc).collect(), connectors })
    }

    fn port(&self, connector: Connector) -> Result<Port> {
        // Without room for modes the kernel probes the connector and returns their number.
        let mut lists = Lists { encoders: Vec::new(), modes: Vec::new() };
        let counts = self.card().get_connector(connector.id, &mut lists)?;
        lists.encoders.resize(counts.count_encoders as usize, 0);
        lists.modes.resize(counts.count_modes.max(1) as usize, drm_mode_modeinfo::default());
        let found = self.card().get_connector(connector.id, &mut lists)?;
        // A list that exceeds its room is not copied.
        let whole = |count: u32, room: usize| if count as usize > room { 0 } else { count as usize };
        lists.encoders.truncate(whole(found.count_encoders, lists.encoders.len()));
        lists.modes.truncate(whole(found.count_modes, lists.modes.len()));
        let (all, _) = self.card().ids()?;
        let mut possible = 0;
        for &encoder in &lists.encoders {
            possible |= self.card().encoder(encoder)?.possible_crtcs;
        }
        let can = |place: usize| {
            u32::try_from(place).is_ok_and(|place| possible.checked_shr(place).unwrap_or(0) & 1 != 0)
        };
        Ok(Port {
            connection: connection(found.connection),
            modes: preferred_first(&lists.modes),
            crtcs: all.iter().enumerate().filter(|&(place, _)| can(place)).map(|(_, &id)| Crtc(id)).collect(),
            crtc: self.card().driven_by(&found)?,
        })
    }

    /// `DRM_IOCTL_MODE_CREATE_DUMB`, 0xc02064b2.
    fn create_dumb(&self, width: u32, height: u32) -> Result<Picture> {
        let mut args = drm_mode_create_dumb { width, height, bpp: XRGB8888_BITS, ..Default::default() };
        // SAFETY: no address in it; integers only.
        unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_CREATE_DUMB, None, &mut args)? };
        let handle = objects::named(DRM_IOCTL_MODE_CREATE_DUMB.name, args.handle)?;
        self.record_dumb(Created { handle, size_bytes: args.size });
        Ok(Picture { handle, width, height, pitch_bytes: args.pitch })
    }

    /// `DRM_IOCTL_MODE_ADDFB2`, 0xc06864b8.
    fn add_framebuffer(&self, picture: &Picture) -> Result<Framebuffer> {
        let handle = picture.handle.get();
        let mut args = drm_mode_fb_cmd2 {
            width: picture.width,
            height: picture.height,
            pixel_format: DRM_FORMAT_XRGB8888,
            handles: [handle, 0, 0, 0],
            pitches: [picture.pitch_bytes, 0, 0, 0],
            ..Default::default()
        };
        // SAFETY: no address in it; integers only.
        let added = unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_ADDFB2, Some(handle), &mut args) };
        added.map_err(|error| self.no_framebuffer(picture.handle, error))?;
        Ok(Framebuffer(args.fb_id))
    }

    /// `DRM_IOCTL_MODE_RMFB`, 0xc00464af.
    fn remove_framebuffer(&self, framebuffer: Framebuffer) -> Result<()> {
        let mut id = framebuffer.0;
        // SAFETY: no address; an integer.
        unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_RMFB, None, &mut id) }
    }

    /// `DRM_IOCTL_MODE_GETCRTC`, 0xc06864a1.
    fn crtc(&self, crtc: Crtc) -> Result<Option<Shown>> {
        let mut args = drm_mode_crtc { crtc_id: crtc.0, ..Default::default() };
        // SAFETY: the address and its count are 0; integers only.
        unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_GETCRTC, None, &mut args)? };
        if args.fb_id == 0 || args.mode_valid == 0 {
            return Ok(None);
        }
        let (_, ids) = self.card().ids()?;
        let mut connectors = Vec::new();
        for id in ids {
            let found =
                self.card().get_connector(id, &mut Lists { encoders: Vec::new(), modes: one_mode() })?;
            if self.card().driven_by(&found)? == Some(crtc) {
                connectors.push(Connector {
                    id,
                    kind: found.connector_type,
                    number: found.connector_type_id,
                });
            }
        }
        let mode = Mode::from_raw(&args.mode);
        Ok(Some(Shown { framebuffer: Framebuffer(args.fb_id), from: (args.x, args.y), mode, connectors }))
    }

    /// `DRM_IOCTL_MODE_SETCRTC`, 0xc06864a2.
    fn set_crtc(&self, crtc: Crtc, shown: &Shown) -> Result<()> {
        let connectors: Vec<u32> = shown.connectors.iter().map(|connector| connector.id).collect();
        let mut args = drm_mode_crtc {
            set_connectors_ptr: connectors.as_ptr() as u64,
            count_connectors: connectors.len() as u32,
            crtc_id: crtc.0,
            fb_id: shown.framebuffer.0,
            x: shown.from.0,
            y: shown.from.1,
            mode_valid: 1,
            mode: shown.mode.into_raw(),
            ..Default::default()
        };
        // SAFETY:
        // - `set_connectors_ptr`: a live vector of `count_connectors` ids that the kernel only reads;
        // - bit patterns: integers only.
        unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_SETCRTC, None, &mut args) }
    }

    /// `DRM_IOCTL_MODE_SETCRTC`, 0xc06864a2.
    fn turn_off(&self, crtc: Crtc) -> Result<()> {
        let mut args = drm_mode_crtc { crtc_id: crtc.0, ..Default::default() };
        // SAFETY: the address and its count are 0; integers only.
        unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_SETCRTC, None, &mut args) }
    }

    /// `DRM_IOCTL_MODE_PAGE_FLIP`, 0xc01864b0, and read(2) from the file.
    fn flip(&self, crtc: Crtc, framebuffer: Framebuffer) -> Result<()> {
        let mut args = drm_mode_crtc_page_flip {
            crtc_id: crtc.0,
            fb_id: framebuffer.0,
            flags: DRM_MODE_PAGE_FLIP_EVENT,
            ..Default::default()
        };
        // SAFETY: no address in it; integers only.
        unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_PAGE_FLIP, None, &mut args)? };
        // A read returns whole events, and the flip's is the only one.
        self.card().read(&mut [0; 64])
    }

    /// `DRM_IOCTL_MODE_DIRTYFB`, 0xc01864b1.
    fn dirty(&self, framebuffer: Framebuffer) -> Result<()> {
        let mut args = drm_mode_fb_dirty_cmd { fb_id: framebuffer.0, ..Default::default() };
        // SAFETY: the address and its count are 0; integers only.
        unsafe { call(self.card().fd()?, DRM_IOCTL_MODE_DIRTYFB, None, &mut args) }
    }

    fn set_cursor(&self, crtc: Crtc, cursor: Option<&Picture>) -> Result<()> {
        self.card().cursor(drm_mode_cursor {
            flags: DRM_MODE_CURSOR_BO,
            crtc_id: crtc.0,
            width: cursor.map_or(0, |cursor| cursor.width),
            height: cursor.map_or(0, |cursor| cursor.height),
            handle: cursor.map_or(0, |cursor| cursor.handle.get()),
            ..Default::default()
        })
    }

    fn move_cursor(&self, crtc: Crtc, x: i32, y: i32) -> Result<()> {
        self.card().cursor(drm_mode_cursor {
            flags: DRM_MODE_CURSOR_MOVE,
            crtc_id: crtc.0,
            x,
            y,
            ..Default::default()
        })
    }
}
