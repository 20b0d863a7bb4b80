from dpregret.contextual.batch import Batch


class PerUserBatch(Batch):
    pass
