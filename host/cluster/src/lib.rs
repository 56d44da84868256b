//! Where nodes and pods come from: snapshot files.
