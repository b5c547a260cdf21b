package folder

// nonBlocking is for pipes in a folder, which only unix has.
const nonBlocking = 0
