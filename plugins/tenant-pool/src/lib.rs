//! Keeps a namespace's pods on the node pool of its tenant.
