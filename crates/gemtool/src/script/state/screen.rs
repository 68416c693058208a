//! BOs on a screen.

use std::collections::BTreeMap;

use gem_coherency::error::Error;
use gem_coherency::object::{Bo, FlushReport};
use gem_coherency_exercise::{self as exercise, Screen};

use super::{DeviceFile, Done, Refused, State};
use crate::script::statement::Name;

impl From<exercise::Error> for Refused {
    fn from(error: exercise::Error) -> Self {
        if let exercise::Error::Library(error) = error { Self::Library(error) } else { Self::Screen(error) }
    }
}

impl State<'_> {
    /// Shows a BO on the screen, after the library's flush.
    pub(super) fn show(&mut self, name: Name) -> Result<Done, Refused> {
        let (bo, file) = (self.bo(name)?.clone(), self.file(name));
        let (report, note) = match self.screens.get_mut(&file) {
            Some(screen) => shown(screen, &bo)?,
            None => {
                let mut screen = Screen::open(self.target_of(name).device())?;
                match shown(&mut screen, &bo) {
                    Ok(done) => {
                        self.screens.insert(file, screen);
                        done
                    }
                    Err(error) => {
                        // The screen was not changed, and a file that is not the master may not restore it either.
                        let _ = screen.close();
                        return Err(error.into());
                    }
                }
            }
        };
        if !self.framed.iter().any(|known| known.is_same(&bo)) {
            self.framed.push(bo);
        }
        Ok(Done { note: Some(note), ..self.decided(name, &report) })
    }

    /// DIRTYFB, for the framebuffer that `show` made of the BO. The library flushes nothing.
    pub(super) fn dirty_fb(&mut self, name: Name) -> Result<Done, Refused> {
        let (bo, file) = (self.bo(name)?.clone(), self.file(name));
        match self.screens.get_mut(&file) {
            Some(screen) if self.framed.iter().any(|known| known.is_same(&bo)) => {
                let framebuffer = screen.add(&bo)?;
                self.drm(name).display()?.dirty(framebuffer)?;
                Ok(Done::default())
            }
            Some(_) | None => {
                let name = self.script.name(name);
                Err(Refused::Usage(format!("'{name}' has no framebuffer: 'show {name}' makes one")))
            }
        }
    }

    /// Takes a BO off the screen: ends its scanout, and removes its framebuffer.
    pub(super) fn off_screen(&mut self, name: Name) -> Result<Done, Refused> {
        let (bo, file) = (self.bo(name)?.clone(), self.file(name));
        let framed = self.framed.iter().position(|known| known.is_same(&bo));
        let shown = self.shown.remove(&name);
        if shown.is_none() && framed.is_none() {
            return Err(Refused::Usage(format!("'{}' is not on screen", self.script.name(name))));
        }
        if let (Some(place), Some(screen)) = (framed, self.screens.get_mut(&file)) {
            screen.forget(&bo)?;
            self.framed.remove(place);
        }
        Ok(Done::default())
    }
}

/// Shows a BO; returns the flush, and where it is shown.
fn shown(screen: &mut Screen, bo: &Bo) -> exercise::Result<(FlushReport, String)> {
    let report = screen.show(bo)?;
    Ok((report, format!("{} on {}", screen.mode(), screen.connector())))
}

/// Shows again what the screens showed before the script.
pub(super) fn close(screens: BTreeMap<DeviceFile, Screen>) -> Result<(), Error> {
    let closed = screens.into_values().map(Screen::close).fold(Ok(()), Result::and);
    closed.map_err(|error| {
        let request = "DRM_IOCTL_MODE_SETCRTC";
        if let exercise::Error::Library(error) = error {
            error
        } else {
            Error::Ioctl { request, errno: error.errno() }
        }
    })
}
