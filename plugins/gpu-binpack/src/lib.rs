//! Packs pods that need a part of a GPU's memory onto as few devices as possible.

mod devices;

use plimsoll_policy::{parse_quantity, prelude::*};

use devices::{Devices, Malformed};

const MALFORMED_REQUEST: &str = "the pod's GPU memory is not a quantity";
const NO_DEVICES: &str = "node has no GPU";
const BAD_DEVICES: &str = "the node's list of GPUs is malformed";
const BAD_POD: &str = "a pod on the node has malformed GPU annotations";
const TOO_SMALL: &str = "no GPU of the node is that large";
const FULL: &str = "no GPU of the node has enough memory left";

/// The names of resource and annotations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct GpuBinpack {
    /// The memory that a pod needs of one device: an annotation of the pod, or else its request.
    memory: String,
    /// The annotation of a node with the memory of each device, such as `16Gi,16Gi`.
    devices: String,
    /// The annotation of a placed pod with the number of its device, from 0; `bind` writes it.
    device: String,
}

/// The place of a pod on a node, or the reason why it has none.
enum Fit {
    /// It needs no GPU memory.
    NotAsked,
    /// On this device, which it fills most: to this many percent.
    On { device: usize, percent: u32, memory: i64 },
    /// Evicting pods may help.
    NotNow(&'static str),
    /// Evicting pods will not help.
    Never(&'static str),
}

impl GpuBinpack {
    fn fit(&self, pod: Pod, node: &Node) -> Fit {
        let wanted = match pod.annotation(&self.memory).map(parse_quantity) {
            None => pod.request(&self.memory),
            Some(Some(wanted @ 0..)) => wanted,
            Some(_) => return Fit::Never(MALFORMED_REQUEST),
        };
        if wanted == 0 {
            return Fit::NotAsked;
        }
        let Some(list) = node.annotation(&self.devices) else { return Fit::Never(NO_DEVICES) };
        let Ok(mut devices) = Devices::parse(list) else { return Fit::Never(BAD_DEVICES) };
        if devices.largest() < wanted {
            return Fit::Never(TOO_SMALL);
        }
        if node.placed().any(|placed| self.take(&mut devices, &placed).is_err()) {
            return Fit::NotNow(BAD_POD);
        }
        match devices.tightest(wanted) {
            Some((device, percent)) => Fit::On { device, percent, memory: wanted },
            None => Fit::NotNow(FULL),
        }
    }

    /// Takes the memory of a placed pod.
    fn take(&self, devices: &mut Devices, placed: &Placed) -> Result<(), Malformed> {
        let memory = match placed.annotation(&self.memory) {
            None => placed.request(&self.memory),
            Some(text) => parse_quantity(text).filter(|memory| *memory >= 0).ok_or(Malformed)?,
        };
        match placed.annotation(&self.device) {
            _ if memory == 0 => Ok(()),
            Some(device) => devices.take(device.parse().map_err(|_| Malformed)?, memory),
            None => {
                devices.take_anywhere(memory);
                Ok(())
            }
        }
    }
}

impl Filter for GpuBinpack {
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
        match self.fit(*pod, node) {
            Fit::NotAsked | Fit::On { .. } => Verdict::Fits,
            Fit::NotNow(reason) => Verdict::unschedulable(reason),
            Fit::Never(reason) => Verdict::unresolvable(reason),
        }
    }
}

impl Score for GpuBinpack {
    fn score(&self, pod: &Pod, node: &Node) -> u32 {
        match self.fit(*pod, node) {
            Fit::On { percent, .. } => percent,
            Fit::NotAsked | Fit::NotNow(_) | Fit::Never(_) => 0,
        }
    }
}

impl Bind for GpuBinpack {
    fn bind(&self, pod: &Pod, node: &Node) -> Result<BindMetadata, NotBound> {
        match self.fit(*pod, node) {
            Fit::NotAsked => Ok(BindMetadata::new()),
            Fit::On { device, memory, .. } => {
                let given = BindMetadata::new().annotation(&*self.device, device.to_string());
                // The memory that was counted stands beside the device, whatever the pod's resources say later.
                let is_counted = pod.annotation(&self.memory).is_some();
                Ok(if is_counted { given } else { given.annotation(&*self.memory, memory.to_string()) })
            }
            Fit::NotNow(reason) | Fit::Never(reason) => Err(NotBound::refused(reason)),
        }
    }
}

impl Default for GpuBinpack {
    fn default() -> Self {
        Self {
            memory: "example.com/gpu-mem".to_owned(),
            devices: "example.com/gpu-devices".to_owned(),
            device: "example.com/gpu-device".to_owned(),
        }
    }
}

export!(GpuBinpack: filter, score, bind);

#[cfg(test)]
mod tests;
