//! The number of objects in a page of a list.

/// A page is all of the JSON that is held at once.
const MAX_OBJECTS: u32 = 500;

/// A page that is smaller may be followed by one of twice as many objects.
const SMALL_PAGE: usize = 8 << 20;

/// The page size.
#[derive(Debug)]
pub(super) struct PageSize(u32);

// === impl PageSize ===

impl PageSize {
    /// The most objects of the next page.
    pub(super) fn limit(&self) -> u32 {
        self.0
    }

    /// A page was too large; false if it had one object already.
    pub(super) fn halve(&mut self) -> bool {
        let could = self.0 > 1;
        self.0 = (self.0 / 2).max(1);
        could
    }

    /// A page of this size was not too large.
    pub(super) fn fits(&mut self, bytes: usize) {
        if bytes < SMALL_PAGE {
            self.0 = (self.0 * 2).min(MAX_OBJECTS);
        }
    }
}

impl Default for PageSize {
    fn default() -> Self {
        Self(MAX_OBJECTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_shrink_to_one_object_and_grow_again() {
        let mut pages = PageSize::default();
        let limits: Vec<u32> = std::iter::from_fn(|| pages.halve().then(|| pages.limit())).collect();
        assert_eq!(limits, [250, 125, 62, 31, 15, 7, 3, 1]);
        pages.fits(SMALL_PAGE);
        assert_eq!(pages.limit(), 1);
        (0..10).for_each(|_| pages.fits(SMALL_PAGE - 1));
        assert_eq!(pages.limit(), MAX_OBJECTS);
    }
}
