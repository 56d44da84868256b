package plimsoll

// Metadata is the annotations and labels that a pod gets in the write that binds it.
type Metadata struct {
	// At most 64; all annotations of a pod have at most 256 KiB. One that the pod has already is overwritten.
	Annotations map[string]string
	// At most 64, by the rules of Kubernetes for labels. A label that the pod has already with another value is not
	// overwritten, and the pod is not bound. The API server must be of Kubernetes 1.35 or later.
	Labels map[string]string
}

// RetryError is an error of a bind that may succeed soon: see [Retry].
type RetryError struct {
	reason string
}

// Retry says that the pod cannot be bound yet: the host asks again when the cluster has changed, within the time of the
// request. If that does not help, kube-scheduler gets the reason. For what ends within seconds, such as a device that is
// being given back. After any other error of a bind kube-scheduler gets the reason at once and retries the pod after a
// back-off.
func Retry(reason string) error {
	return &RetryError{reason}
}

// Error is the reason.
func (e *RetryError) Error() string {
	return e.reason
}
