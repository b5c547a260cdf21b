// Package installed has the tests that install each package of dist/ into an
// empty folder or root and use what is there. `make dist-test` runs them: they
// need the packages, Node.js, Python, dpkg, and root for chroot and owners.
package installed
