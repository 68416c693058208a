//! The linear views of tiled objects that mappings show, and when they are brought up to date.

use std::sync::{Arc, MutexGuard, Weak};

use crate::kernel::objects::object::Object;
use crate::kernel::objects::state::State;
use crate::memory::detiled::{Detiled, end_request};
use crate::memory::tiling::Order;
use gem_coherency::error::Result;
use gem_coherency::sync::Mutex;

/// The views that mappings show, of objects of all devices.
static VIEWS: Mutex<Vec<View>> = Mutex::new(Vec::new());

/// The view of an object.
#[derive(Clone, Debug)]
struct View {
    object: Weak<Object>,
    bytes: Arc<Detiled>,
}

/// Returns the view of an object whose bytes have this order, and brings it up to date.
///
/// # Errors
/// Those of creating the file.
pub(crate) fn linear_view(object: &Arc<Object>, state: &State, order: Order) -> Result<Arc<Detiled>> {
    let view = match find(object) {
        Some(view) => view,
        None => {
            let ctx = object.system().access_context(state.snapshot.level);
            let view = Arc::new(Detiled::new(object.size(), ctx, order)?);
            object.backing().detiled.add(&view);
            views().push(View { object: Arc::downgrade(object), bytes: Arc::clone(&view) });
            view
        }
    };
    refresh(&view, object, state)?;
    Ok(view)
}

/// Returns whether no mapping of an object's view was touched.
pub(crate) fn is_untouched(object: &Object) -> bool {
    find(object).is_none_or(|view| view.is_untouched())
}

/// Returns the view of an object, if there is one.
fn find(object: &Object) -> Option<Arc<Detiled>> {
    views().iter().find(|view| std::ptr::eq(view.object.as_ptr(), object)).map(|view| Arc::clone(&view.bytes))
}

/// Lets a view show what the aperture shows of its object.
fn refresh(view: &Detiled, object: &Object, state: &State) -> Result<()> {
    let order = state.tiling.order(object.system().machine).unwrap_or(Order::LINEAR);
    view.refresh(&mut object.backing(), object.access_context(state), order)
}

impl View {
    /// Brings the view up to date at the end of a request if its object's bytes were accessed, or for the last time.
    fn settle(&self, is_last: bool) -> Result<()> {
        let Some(object) = self.object.upgrade() else { return Ok(()) };
        let state = object.state();
        let is_old = object.backing().shared.is_some() || self.bytes.is_old();
        if (is_old || is_last) && !state.purged { refresh(&self.bytes, &object, &state) } else { Ok(()) }
    }
}

impl Object {
    /// Gets what programs stored to the view of the object, before its tiling changes.
    pub(crate) fn absorb_view(&self) -> Result<()> {
        self.backing().absorb()
    }
}

/// Ends a request: brings the views up to date whose objects' bytes were accessed, and drops those that no mapping shows.
pub(crate) fn settle() {
    let all: Vec<_> = {
        let views = views();
        views.iter().map(|view| (Arc::strong_count(&view.bytes) == 1, view.clone())).collect()
    };
    if all.is_empty() {
        return;
    }
    end_request();
    for (is_unused, view) in all {
        match view.settle(is_unused) {
            Ok(()) if is_unused => views().retain(|other| {
                !Arc::ptr_eq(&other.bytes, &view.bytes) || Arc::strong_count(&other.bytes) > 2
            }),
            Ok(()) => {}
            Err(error) => tracing::error!(%error, "a view of a tiled object is not up to date"),
        }
    }
}

fn views() -> MutexGuard<'static, Vec<View>> {
    VIEWS.lock()
}
