"""One settings type for everything that an operator of the cluster can choose."""
