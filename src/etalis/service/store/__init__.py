"""What a service keeps on disk: one log in the order of its work, snapshots of what changed, answers and marks.

Law: an entry is written before its work is done, and the state is a function of the snapshots and the entries after
them. So after a crash nothing that was answered is lost, and nothing is detected twice.
"""
