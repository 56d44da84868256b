//! The devices of one node, and the free memory of each.

use plimsoll_policy::parse_quantity;

/// More than any machine has; a longer list is a mistake.
const MOST: usize = 64;

/// Memory of each device in bytes.
#[derive(Debug)]
pub(crate) struct Devices(Vec<Device>);

#[derive(Debug)]
struct Device {
    size: i64,
    left: i64,
}

/// An annotation that says nothing.
#[derive(Debug)]
pub(crate) struct Malformed;

impl Devices {
    /// Reads a list such as `16Gi,16Gi`.
    pub(crate) fn parse(list: &str) -> Result<Self, Malformed> {
        let device = |text: &str| match parse_quantity(text.trim()) {
            Some(size @ 1..) => Ok(Device { size, left: size }),
            _ => Err(Malformed),
        };
        let devices = list.split(',').take(MOST + 1).map(device).collect::<Result<Vec<_>, _>>()?;
        if devices.len() > MOST { Err(Malformed) } else { Ok(Self(devices)) }
    }

    /// The size of the largest device.
    pub(crate) fn largest(&self) -> i64 {
        self.0.iter().map(|device| device.size).max().unwrap_or(0)
    }

    /// Takes memory of one device.
    pub(crate) fn take(&mut self, device: usize, memory: i64) -> Result<(), Malformed> {
        let device = self.0.get_mut(device).ok_or(Malformed)?;
        device.left = device.left.saturating_sub(memory);
        Ok(())
    }

    /// Takes memory that lies on one device, but it is not known on which: none of them may be given twice.
    pub(crate) fn take_anywhere(&mut self, memory: i64) {
        for device in &mut self.0 {
            device.left = device.left.saturating_sub(memory);
        }
    }

    /// The device that the memory fills most, of those with room for it, and how full it is then, in percent.
    ///
    /// Of several the first, so that each call gets the same.
    pub(crate) fn tightest(&self, memory: i64) -> Option<(usize, u32)> {
        let room = self.0.iter().enumerate().filter(|(_, device)| device.left >= memory);
        let filled =
            |(number, device): (usize, &Device)| (number, percent(device.size - device.left + memory, device.size));
        room.map(filled).reduce(|best, other| if other.1 > best.1 { other } else { best })
    }
}

fn percent(part: i64, whole: i64) -> u32 {
    (i128::from(part) * 100 / i128::from(whole)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_devices_is_read_or_malformed() {
        assert_eq!(Devices::parse("16Gi, 80Gi").unwrap().largest(), 80 << 30);
        for list in ["", "16Gi,", "0", "-1Gi", "many", "16Gi;16Gi", &vec!["1Gi"; MOST + 1].join(",")] {
            assert!(Devices::parse(list).is_err(), "{list}");
        }
        assert!(Devices::parse(&vec!["1Gi"; MOST].join(",")).is_ok());
    }

    #[test]
    fn the_tightest_device_is_taken_and_of_several_the_first() {
        let mut devices = Devices::parse("16Gi,8Gi,8Gi").unwrap();
        assert_eq!(devices.tightest(4 << 30), Some((1, 50)));
        devices.take(2, 2 << 30).unwrap();
        assert_eq!(devices.tightest(4 << 30), Some((2, 75)));
        assert_eq!(devices.tightest(7 << 30), Some((1, 87)));
        assert_eq!(devices.tightest(9 << 30), Some((0, 56)));
        assert_eq!(devices.tightest(17 << 30), None);
    }

    #[test]
    fn no_amount_of_memory_overflows() {
        let mut devices = Devices::parse("7Ei,1").unwrap();
        assert_eq!(devices.tightest(7 << 60), Some((0, 100)));
        devices.take_anywhere(i64::MAX);
        devices.take_anywhere(i64::MAX);
        assert_eq!(devices.tightest(1), None);
    }
}
