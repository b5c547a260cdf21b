package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// lockAt is the high half of the position of the byte that is locked: far
// behind the content, because nobody else could read what is locked.
const lockAt = 0x7fffffff

// TryLock takes the lock on an open file, which ends with the file or its
// process. The error is ErrLocked if somebody else has it.
func TryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// Unlock closes a file, and so releases the lock on it.
func Unlock(f *os.File) error { return f.Close() }

// RemoveLocked gives the lock in a folder free and removes that: what is open
// cannot be removed. A sweep in between does the same.
func RemoveLocked(dir string, lock *os.File) error {
	return errors.Join(lock.Close(), os.RemoveAll(dir))
}

// OpenNoFollow is os.OpenFile for a name that must not be a symbolic link.
func OpenNoFollow(name string, flag int, perm os.FileMode) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return nil, &os.PathError{Op: "open", Path: name, Err: errors.New("it is a link")}
	}
	return os.OpenFile(name, flag, perm)
}

// SyncDir has nothing to do: NTFS keeps names in its journal, and a folder
// cannot be flushed.
func SyncDir(string) error { return nil }

// ReadOnly reports whether an error says that a file system cannot be written.
func ReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// readers are rights with which the content of a file can be read.
const readers = windows.FILE_READ_DATA | windows.GENERIC_READ | windows.GENERIC_ALL

// crowds are groups that a secret must not be readable for.
var crowds = []windows.WELL_KNOWN_SID_TYPE{windows.WinWorldSid, windows.WinAuthenticatedUserSid, windows.WinBuiltinUsersSid, windows.WinBuiltinGuestsSid}

// Exposed reports how others than its user may read a file, "" if they may not:
// modes mean nothing here, so the access list is looked at. What is no regular
// file, a pipe for example, is nobody's business but the shell's.
func Exposed(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	sd, err := windows.GetNamedSecurityInfo(f.Name(), windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return "", fmt.Errorf("access list of %s: %w", f.Name(), err)
	}
	const advice = "may be read by others: run icacls %q /inheritance:r /grant:r %%USERNAME%%:F"
	list, _, err := sd.DACL()
	if errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) || err == nil && list == nil {
		return fmt.Sprintf(advice, f.Name()), nil // without a list everybody may do everything
	}
	if err != nil {
		return "", fmt.Errorf("access list of %s: %w", f.Name(), err)
	}
	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &ace); err != nil {
			return "", fmt.Errorf("access list of %s: %w", f.Name(), err)
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || ace.Mask&readers == 0 {
			continue
		}
		sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		for _, crowd := range crowds {
			if sid.IsWellKnown(crowd) {
				return fmt.Sprintf(advice, f.Name()), nil
			}
		}
	}
	return "", nil
}

// Owned reports whether a file is this user's: what others may write is theirs to guard
// where files have no plain owner.
func Owned(os.FileInfo) bool { return true }

// MakePrivate lets nobody but the process's user at a file: mode 0600 means
// nothing here, and the folder's access list would hold.
func MakePrivate(f *os.File) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("access list of %s: %w", f.Name(), err)
	}
	list, err := windows.ACLFromEntries([]windows.EXPLICIT_ACCESS{{
		AccessPermissions: windows.GENERIC_ALL, AccessMode: windows.GRANT_ACCESS, Inheritance: windows.NO_INHERITANCE,
		Trustee: windows.TRUSTEE{TrusteeForm: windows.TRUSTEE_IS_SID, TrusteeType: windows.TRUSTEE_IS_USER, TrusteeValue: windows.TrusteeValueFromSID(user.User.Sid)},
	}}, nil)
	if err == nil {
		err = windows.SetNamedSecurityInfo(f.Name(), windows.SE_FILE_OBJECT,
			windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, list, nil)
	}
	if err != nil {
		return fmt.Errorf("access list of %s: %w", f.Name(), err)
	}
	return nil
}
